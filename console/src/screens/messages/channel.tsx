import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
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
import { Code, Failed, Panel, Tag, Waiting } from '../../ui/parts.tsx';
import { MessagesScreen } from './frame.tsx';
import { channelQuery, readinessQuery, type Channel } from './queries.ts';
import { testWords } from './words.ts';

/** The mail server that sends. */
export function ChannelScreen() {
  const channel = useQuery(channelQuery);
  return (
    <MessagesScreen tab="Channel">
      {channel.isPending && <Waiting of="fields" />}
      {channel.isError && <Failed error={channel.error} retry={() => void channel.refetch()} />}
      {channel.data !== undefined && (
        <>
          <ChannelPanel key={JSON.stringify(channel.data)} channel={channel.data} />
          {channel.data !== null && <Test channel={channel.data} />}
        </>
      )}
    </MessagesScreen>
  );
}

type Body = paths['/v1/messages/channel']['put']['requestBody']['content']['application/json'];

const SECURITY = [
  { value: 'starttls', text: 'STARTTLS (usually port 587)' },
  { value: 'tls', text: 'TLS from the start (usually port 465)' },
  { value: 'none', text: 'none: not encrypted, without a login' },
];
const ENCRYPTED = { field: 'security', is: ['tls', 'starttls'] };

const fieldsOf = (hasPassword: boolean): readonly Field[] => [
  {
    name: 'enabled',
    label: 'Send e-mails',
    input: 'yes',
    hint: 'Off: nothing falls due, and e-mails that wait are dropped when it is too late for them.',
    initial: true,
  },
  {
    name: 'host',
    label: 'Mail server',
    input: 'text',
    hint: 'The name of the SMTP server of your e-mail provider, such as smtp.example.com.',
    required: true,
  },
  { name: 'security', label: 'Encryption', input: 'choice', options: SECURITY, initial: 'starttls', required: true },
  { name: 'port', label: 'Port', input: 'number', initial: 587, required: true },
  {
    name: 'username',
    label: 'User name',
    input: 'text',
    hint: 'For the login. Empty: Laurel does not log in.',
    clearable: true,
    when: ENCRYPTED,
  },
  {
    name: 'password',
    label: 'Password',
    input: 'secret',
    hint: hasPassword
      ? 'Stored encrypted, and never shown. Leave it empty to keep the stored one.'
      : 'Stored encrypted, and never shown again.',
    when: { field: 'username', is: [] },
  },
  {
    name: 'senderAddress',
    label: 'Sender’s address',
    input: 'text',
    hint: 'Your provider must allow it. Its domain needs SPF, DKIM and DMARC records, or e-mails become spam.',
    required: true,
  },
  {
    name: 'senderName',
    label: 'Sender’s name',
    input: 'text',
    hint: 'As users see it, such as the name of your app.',
    clearable: true,
  },
  { name: 'replyTo', label: 'Address for replies', input: 'text', hint: 'Empty: the sender’s.', clearable: true },
  {
    name: 'pace',
    label: 'E-mails a second',
    input: 'number',
    hint: 'The most that your provider allows, from 0.01 to 100.',
    initial: 5,
    required: true,
  },
];

/** What only a mail server has. */
const OF_SERVER = ['host', 'security', 'port', 'username', 'password'];

const saveChannel = (channel: Channel | null, sent: Values) => {
  const isOpen = (sent['security'] ?? channel?.security) === 'none';
  // As a whole: fields that are left out would get their defaults.
  const body = { ...channel, ...sent, ...(isOpen && { username: null }) } as unknown as Body;
  return answer(admin.PUT('/v1/messages/channel', { body }));
};

function ChannelPanel({ channel }: { channel: Channel | null }) {
  const readiness = useQuery(readinessQuery).data;
  const hasPassword = channel?.hasPassword === true;
  // Without PUBLIC_URL, a channel can be entered and tested, but not switched on.
  const isPossible = readiness?.publicUrl !== null;
  const isPosted = channel?.transport === 'http';
  const own = fieldsOf(hasPassword).filter(({ name }) => !isPosted || !OF_SERVER.includes(name));
  const fields = own.map((field) =>
    field.name === 'enabled' && !isPossible
      ? { ...field, initial: false, hint: 'Only with PUBLIC_URL: see above. You can save and test the channel before.' }
      : field,
  );
  if (readiness === undefined) return <Waiting of="fields" />;
  return (
    <Panel
      title={isPosted ? 'Provider' : 'Mail server'}
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
      {isPosted && (
        <p className="mb-3">
          E-mails are posted to {channel.http!.url}. Change the request with <Code>PUT /v1/messages/channel</Code>.
        </p>
      )}
      <FieldsForm
        fields={fields}
        item={channel as Values | null}
        save={(sent) => saveChannel(channel, sent)}
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
  const words = outcome && testWords(outcome, reason);
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
        <div role="status" className="empty:hidden">
          {words !== undefined && (
            <div
              className={`rounded-md px-3 py-2 ${words.hasWorked ? 'bg-accent-soft text-accent-strong' : 'bg-danger-soft text-danger'}`}
            >
              <strong>{words.text}</strong> {words.advice}
              {reason !== null && (
                <p className="mt-1">
                  The answer: <Code>{reason}</Code>
                </p>
              )}
            </div>
          )}
        </div>
        {test.error !== null && <Failed error={test.error} />}
      </form>
    </Panel>
  );
}
