import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { answer, Problem } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import { useMayChange } from '../../api/session.ts';
import { FieldsForm } from '../../resource/editor.tsx';
import type { Values } from '../../resource/field.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { CopyText } from '../../ui/copy-text.tsx';
import { Sheet } from '../../ui/dialogs.tsx';
import { moment, number } from '../../ui/format.ts';
import { Code, Facts, Failed, Panel, Tag, Waiting } from '../../ui/parts.tsx';
import { DeviceInput, type Devices } from './device-input.tsx';
import { MessagesScreen } from './frame.tsx';
import { COMMON_FIELDS, credentialFields, type Provider, sentChannel } from './push-fields.ts';
import { type PushChannel, pushChannelsQuery } from './queries.ts';
import { TestResults } from './test-result.tsx';
import { PROVIDERS, pushTestWords } from './words.ts';

/** The channels through which push notifications are sent, one for each provider. */
export function PushChannels() {
  const channels = useQuery(pushChannelsQuery);
  return (
    <MessagesScreen tab="Push channels">
      {channels.isPending && <Waiting of="fields" />}
      {channels.isError && <Failed error={channels.error} retry={() => void channels.refetch()} />}
      {channels.data && (
        <div className="grid items-start gap-4 lg:grid-cols-2">
          {(Object.keys(PROVIDERS) as Provider[]).map((provider) => (
            <ProviderPanel
              key={provider}
              provider={provider}
              channel={channels.data.find((channel) => channel.provider === provider) ?? null}
            />
          ))}
        </div>
      )}
    </MessagesScreen>
  );
}

function ProviderPanel({ provider, channel }: { provider: Provider; channel: PushChannel | null }) {
  const mayChange = useMayChange();
  const [open, setOpen] = useState<'fields' | 'test' | null>(null);
  const { name, about } = PROVIDERS[provider]!;
  const close = (): void => setOpen(null);
  return (
    <Panel
      title={name}
      actions={
        channel !== null && <Tag tone={channel.enabled ? 'good' : 'plain'}>{channel.enabled ? 'on' : 'off'}</Tag>
      }
    >
      <p className={channel === null ? '' : 'mb-2 text-muted'}>{about}</p>
      {channel !== null && <Seen of={channel} />}
      {mayChange && (
        <div className="mt-3 flex flex-wrap gap-2">
          {channel === null ? (
            <Button look="primary" aria-label={`Set up: ${name}`} onClick={() => setOpen('fields')}>
              <Plus size={15} aria-hidden /> Set up
            </Button>
          ) : (
            <>
              <Button aria-label={`Edit: ${name}`} onClick={() => setOpen('fields')}>
                Edit
              </Button>
              <Button aria-label={`Send a test: ${name}`} onClick={() => setOpen('test')}>
                Send a test
              </Button>
              <RemoveChannel provider={provider} name={name} />
            </>
          )}
        </div>
      )}
      <Sheet open={open === 'fields'} onClose={close} title={channel === null ? `Set up ${name}` : `Edit ${name}`}>
        <ChannelForm provider={provider} channel={channel} onSaved={close} />
      </Sheet>
      <Sheet open={open === 'test'} onClose={close} title={`Send a test by ${name}`}>
        <Test provider={provider} />
      </Sheet>
    </Panel>
  );
}

const NAMES: Readonly<Record<string, string>> = {
  projectId: 'Project',
  clientEmail: 'Service account',
  keyId: 'ID of the key',
  teamId: 'ID of the team',
  topic: 'Bundle ID',
  environment: 'Environment',
  subject: 'Contact',
};

/** What may be seen of a channel. */
function Seen({ of: { credentials, pace, updated } }: { of: PushChannel }) {
  const { publicKey, ...others } = credentials;
  return (
    <>
      <Facts
        of={[
          ...Object.entries(others).map(
            ([name, value]) => [NAMES[name] ?? name, <Code key={name}>{value}</Code>] as const,
          ),
          ['Pace', `${number(pace)} a second`],
          ['Last changed', moment(updated)],
        ]}
      />
      {publicKey !== undefined && (
        <div className="mt-3 flex flex-col gap-1">
          <p className="font-medium">Public VAPID key</p>
          <CopyText label="Public VAPID key">{publicKey}</CopyText>
          <p className="text-xs text-muted">
            Your website subscribes browsers with it: it is the applicationServerKey. Apps also read it from GET
            /v1/push/web-key.
          </p>
        </div>
      )}
    </>
  );
}

interface ChannelFormProps {
  provider: Provider;
  channel: PushChannel | null;
  onSaved: () => void;
}

function ChannelForm({ provider, channel, onSaved }: ChannelFormProps) {
  const item = channel && { ...channel.credentials, enabled: channel.enabled, pace: channel.pace };
  const save = async (sent: Values): Promise<void> => {
    const body = sentChannel(provider, channel, sent);
    try {
      await answer(admin.PUT('/v1/messages/push-channels/{provider}', { params: { path: { provider } }, body }));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // Problems name the fields of the form.
      throw new Problem(error.status, error.message.replace(/^credentials\./, ''));
    }
  };
  return (
    <FieldsForm
      fields={[...credentialFields(provider, channel === null), ...COMMON_FIELDS]}
      item={item}
      save={save}
      done="The channel is saved."
      onSaved={onSaved}
    />
  );
}

function RemoveChannel({ provider, name }: { provider: Provider; name: string }) {
  const remove = useChange({
    run: () => answer(admin.DELETE('/v1/messages/push-channels/{provider}', { params: { path: { provider } } })),
    done: 'The channel is deleted.',
  });
  const keys = provider === 'web_push' ? ' Browsers must subscribe again, unless you keep the pair of keys.' : '';
  return (
    <ConfirmedButton
      look="bare"
      change={remove}
      aria-label={`Delete: ${name}`}
      title={`Delete the channel of ${name}?`}
      action="Delete"
      about={`Devices of this provider get nothing any longer.${keys} To stop for a while, switch it off instead.`}
    >
      Delete
    </ConfirmedButton>
  );
}

/** Sends a test to devices, and says in words how it ended. */
function Test({ provider }: { provider: Provider }) {
  const [devices, setDevices] = useState<Devices>({ by: 'user', value: '' });
  const test = useChange({
    run: ({ by, value }: Devices) => {
      const body = by === 'user' ? { userId: value } : { token: value };
      return answer(admin.POST('/v1/messages/push-channels/{provider}/test', { params: { path: { provider } }, body }));
    },
    quiet: true,
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        test.mutate(devices);
      }}
    >
      <p className="text-muted">With the saved settings, also while the channel is off. A test is in no log.</p>
      <DeviceInput of={devices} onChange={setDevices} />
      <Button type="submit" look="primary" className="self-start" disabled={test.isPending || devices.value === ''}>
        {test.isPending ? 'Sending …' : 'Send a test'}
      </Button>
      <TestResults
        of={(test.data?.devices ?? []).map(({ outcome, reason }) => ({ ...pushTestWords(outcome, reason), reason }))}
      />
      {test.error !== null && <Failed error={test.error} />}
    </form>
  );
}
