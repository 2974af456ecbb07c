import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, Problem } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import { useMayChange } from '../../api/session.ts';
import type { paths } from '../../../generated/admin.ts';
import { FieldsForm } from '../../resource/editor.tsx';
import type { Field, Values } from '../../resource/field.ts';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { Button } from '../../ui/button.tsx';
import { Labelled, TextInput } from '../../ui/fields.tsx';
import { moment } from '../../ui/format.ts';
import { Failed, Panel, Tag, Waiting } from '../../ui/parts.tsx';
import { HTTP_FIELDS, smtpFields } from './channel-fields.tsx';
import { Feedback } from './feedback.tsx';
import { MessagesScreen } from './frame.tsx';
import { channelQuery, readinessQuery, type Channel } from './queries.ts';
import { TestResults } from './test-result.tsx';
import { testWords } from './words.ts';

/** The mail server or provider that sends. */
export function ChannelScreen() {
  const channel = useQuery(channelQuery);
  return (
    <MessagesScreen tab="Channel">
      {channel.isPending && <Waiting of="fields" />}
      {channel.isError && <Failed error={channel.error} retry={() => void channel.refetch()} />}
      {channel.data !== undefined && (
        <>
          <ChannelPanel channel={channel.data} />
          {channel.data !== null && <Test channel={channel.data} />}
          {channel.data !== null && <Feedback />}
        </>
      )}
    </MessagesScreen>
  );
}

type Body = paths['/v1/messages/channel']['put']['requestBody']['content']['application/json'];

const saveServer = (channel: Channel | null, sent: Values) => {
  const isOpen = (sent['security'] ?? (isPosted(channel) ? undefined : channel?.security)) === 'none';
  // As a whole: fields that are left out would get their defaults.
  const before = isPosted(channel) ? { ...initialsOf(smtpFields(false)), ...senderOf(channel!) } : channel;
  const body = { ...before, ...sent, transport: 'smtp', ...(isOpen && { username: null }) } as unknown as Body;
  return answer(admin.PUT('/v1/messages/channel', { body }));
};

const OF_REQUEST = ['url', 'headers', 'secretHeaders', 'body', 'answers'];

async function saveProvider(channel: Channel | null, sent: Values): Promise<void> {
  const isOfRequest = ([name]: [string, unknown]): boolean => OF_REQUEST.includes(name);
  const request = Object.fromEntries(Object.entries(sent).filter(isOfRequest));
  const others = Object.fromEntries(Object.entries(sent).filter((field) => !isOfRequest(field)));
  const { body: template } = initialsOf(HTTP_FIELDS);
  const http = { body: template, ...channel?.http, ...request };
  const body = { ...(channel && senderOf(channel)), ...others, transport: 'http', http } as unknown as Body;
  try {
    await answer(admin.PUT('/v1/messages/channel', { body }));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // Problems name the fields of the form.
    throw new Problem(error.status, error.message.replace(/\bhttp\./, ''));
  }
}

const isPosted = (channel: Channel | null): boolean => channel?.transport === 'http';

/** What stays if another server sends. */
const senderOf = ({ enabled, senderAddress, senderName, replyTo, pace }: Channel) => ({
  enabled,
  senderAddress,
  senderName,
  replyTo,
  pace,
});

/** Values with which a form begins. It does not send those that nobody changes. */
const initialsOf = (fields: readonly Field[]): Values =>
  Object.fromEntries(fields.flatMap(({ name, initial }) => (initial === undefined ? [] : [[name, initial]])));

const TRANSPORTS = { smtp: 'Mail server', http: 'Provider over HTTP' } as const;

function ChannelPanel({ channel }: { channel: Channel | null }) {
  const mayChange = useMayChange();
  const readiness = useQuery(readinessQuery).data;
  const [transport, setTransport] = useState(channel?.transport ?? 'smtp');
  // Without PUBLIC_URL, a channel can be entered and tested, but not switched on.
  const isPossible = readiness?.publicUrl !== null;
  const isHttp = transport === 'http';
  const own = isHttp ? HTTP_FIELDS : smtpFields(channel?.hasPassword === true);
  const fields = own.map((field) =>
    field.name === 'enabled' && !isPossible
      ? { ...field, initial: false, hint: 'Only with PUBLIC_URL: see above. You can save and test the channel before.' }
      : field,
  );
  // Another transport begins with the sender alone.
  const item =
    channel === null || channel.transport === transport
      ? channel && { ...channel, ...channel.http }
      : senderOf(channel);
  if (readiness === undefined) return <Waiting of="fields" />;
  return (
    <Panel
      title={TRANSPORTS[transport]}
      className="max-w-3xl"
      actions={
        channel !== null && (
          <>
            <Tag tone={channel.enabled ? 'good' : 'plain'}>{channel.enabled ? 'on' : 'off'}</Tag>
            <RemoveChannel />
          </>
        )
      }
    >
      {channel !== null && <p className="mb-3 text-xs text-muted">Last changed {moment(channel.updated)}</p>}
      {mayChange && (
        <div role="group" aria-label="Send through" className="mb-3 flex flex-wrap gap-1">
          {Object.entries(TRANSPORTS).map(([one, text]) => (
            <Button
              key={one}
              aria-pressed={one === transport}
              className="aria-pressed:border-transparent aria-pressed:bg-accent-soft aria-pressed:text-accent-strong"
              onClick={() => setTransport(one as keyof typeof TRANSPORTS)}
            >
              {text}
            </Button>
          ))}
        </div>
      )}
      <FieldsForm
        key={transport}
        fields={fields}
        item={item as Values | null}
        save={(sent) => (isHttp ? saveProvider(channel, sent) : saveServer(channel, sent))}
        done="The channel is saved."
      />
    </Panel>
  );
}

function RemoveChannel() {
  const remove = useChange({
    run: () => answer(admin.DELETE('/v1/messages/channel')),
    done: 'The channel is deleted.',
  });
  return (
    <ConfirmedButton
      look="bare"
      change={remove}
      title="Delete the channel?"
      action="Delete"
      about="No e-mails are sent any longer, and those that wait are dropped. To stop for a while, switch it off instead."
    >
      Delete
    </ConfirmedButton>
  );
}

/** Sends a test e-mail, and says in words how it ended. */
function Test({ channel }: { channel: Channel }) {
  const mayChange = useMayChange();
  const [to, setTo] = useState('');
  const test = useChange({
    run: (address: string) => answer(admin.POST('/v1/messages/channel/test', { body: { to: address } })),
    quiet: true,
  });
  if (!mayChange) return null;
  const { outcome, reason = null } = test.data ?? {};
  return (
    <Panel title="Test" className="max-w-3xl">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          test.mutate(to);
        }}
      >
        <Labelled
          label="Send a test e-mail to"
          hint={`Through ${channel.host}, with the saved settings; also while the channel is off.`}
        >
          <span className="flex gap-2">
            <TextInput
              type="email"
              required
              autoComplete="email"
              placeholder="you@example.com"
              aria-label="Send a test e-mail to"
              value={to}
              onChange={({ target }) => setTo(target.value)}
            />
            <Button type="submit" disabled={test.isPending} className="h-9">
              {test.isPending ? 'Sending …' : 'Send'}
            </Button>
          </span>
        </Labelled>
        <TestResults of={outcome === undefined ? [] : [{ ...testWords(outcome, reason), reason }]} />
        {test.error !== null && <Failed error={test.error} />}
      </form>
    </Panel>
  );
}
