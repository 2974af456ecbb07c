import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { curl } from '../api/bodies.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import type { AdminRead } from '../api/queries.ts';
import { useMayChange } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmedButton } from '../ui/confirmed.tsx';
import { CursorTable } from '../ui/cursor-table.tsx';
import { SelectInput } from '../ui/fields.tsx';
import { Ago } from '../ui/ago.tsx';
import { Code, Empty, Failed, Screen, Tag, Waiting } from '../ui/parts.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { Delivery } from './delivery.tsx';
import { Resend } from './resend.tsx';
import { SignatureSnippet } from './signature-snippet.tsx';
import { DisabledTag, WebhookState } from './webhook-state.tsx';

const route = getRouteApi('/webhooks/$id');

type Message = AdminRead<'/v1/webhooks/{id}/deliveries'>['deliveries'][number];
type Status = Message['status'];

const PARENT = { to: '/webhooks', text: 'Webhooks' } as const;
const PAGE = 100;
/** Polling interval of the log while it is visible. */
const LIVE_MS = 3_000;
const TONES = { pending: 'warn', delivered: 'good', failed: 'bad' } as const;

/** One webhook: its messages, newest first. */
export function WebhookScreen() {
  const { id } = route.useParams();
  const mayChange = useMayChange();
  const webhook = useQuery({
    queryKey: ['webhooks', id],
    queryFn: () => answer(admin.GET('/v1/webhooks/{id}', { params: { path: { id } } })),
  });
  const [status, setStatus] = useState<Status | ''>('');
  const [opened, setOpened] = useState<string | null>(null);
  const test = useChange({
    run: () =>
      answer(
        admin.POST('/v1/webhooks/{id}/test', {
          params: { path: { id } },
          body: { type: webhook.data?.events[0] ?? 'achievement.completed' },
        }),
      ),
    done: 'An example was sent.',
  });
  if (webhook.isPending) return <Waiting />;
  if (webhook.isError)
    return (
      <Screen title="Webhook" parent={PARENT}>
        <Failed error={webhook.error} />
      </Screen>
    );
  const { name, url, events, enabled, header } = webhook.data;
  return (
    <Screen
      title={
        <>
          {name} {enabled ? <Tag tone="good">enabled</Tag> : <DisabledTag id={id} />}
        </>
      }
      name={name}
      parent={PARENT}
      about={
        <>
          <Code>{url}</Code> · {events.join(', ')}
        </>
      }
      actions={
        mayChange && (
          <>
            <Button
              disabled={test.isPending}
              onClick={() => test.mutate(undefined, { onSuccess: (sent) => setOpened(sent.id) })}
            >
              {test.isPending ? 'Sending …' : 'Send an example'}
            </Button>
            <RotateSecret id={id} />
          </>
        )
      }
    >
      <WebhookState id={id} enabled={enabled} />
      <SignatureSnippet header={header} />
      <Resend id={id} types={events} />
      <div className="flex flex-wrap items-center gap-3">
        <SelectInput
          aria-label="Status"
          className="max-w-44"
          value={status}
          onChange={({ target }) => setStatus(target.value as Status | '')}
        >
          <option value="">All statuses</option>
          {Object.keys(TONES).map((one) => (
            <option key={one}>{one}</option>
          ))}
        </SelectInput>
      </div>
      <Messages key={status} id={id} status={status} onOpen={setOpened} />
      <Delivery webhook={id} message={opened} onClose={() => setOpened(null)} />
    </Screen>
  );
}

function Messages({ id, status, onOpen }: { id: string; status: Status | ''; onOpen: (message: string) => void }) {
  const columns: Column<Message>[] = [
    {
      id: 'type',
      header: 'Message',
      cell: (message) => (
        <button type="button" className="font-medium text-accent hover:underline" onClick={() => onOpen(message.id)}>
          {message.type}
        </button>
      ),
    },
    { id: 'user', header: 'User', cell: ({ userId }) => userId ?? '' },
    { id: 'at', header: 'When', cell: ({ at }) => <Ago at={at} /> },
    { id: 'tries', header: 'Attempts', align: 'right', cell: ({ tries }) => tries },
    { id: 'reason', header: 'Answer', cell: ({ lastStatus, reason }) => reason ?? lastStatus ?? '' },
    {
      id: 'status',
      header: 'Status',
      cell: (message) => (
        <>
          <Tag tone={TONES[message.status]}>{message.status}</Tag> {message.test && <Tag>test</Tag>}
        </>
      ),
    },
  ];
  return (
    <CursorTable
      label="Messages"
      columns={columns}
      rowId={(message) => message.id}
      queryKey={['webhooks', id, 'deliveries', status]}
      refetchMs={LIVE_MS}
      read={async (cursor) => {
        const query = { limit: PAGE, ...(cursor !== null && { cursor }), ...(status !== '' && { status }) };
        const params = { path: { id }, query };
        const { deliveries, nextCursor } = await answer(admin.GET('/v1/webhooks/{id}/deliveries', { params }));
        return { rows: deliveries, nextCursor };
      }}
      empty={
        <Empty
          title={status === '' ? 'No messages yet' : `No ${status} messages`}
          {...(status === '' && { curl: curl('POST', `/v1/webhooks/${id}/test`, { type: 'achievement.completed' }) })}
        >
          {status === ''
            ? 'Messages appear here when something happens that the webhook listens to. This command sends an example, like the button above:'
            : 'Choose another status to see the other messages.'}
        </Empty>
      }
    />
  );
}

function RotateSecret({ id }: { id: string }) {
  const [secret, setSecret] = useState<string | null>(null);
  const rotate = useChange({
    run: async () =>
      setSecret((await answer(admin.POST('/v1/webhooks/{id}/rotate-secret', { params: { path: { id } } }))).secret),
  });
  return (
    <>
      <ConfirmedButton
        change={rotate}
        title="Rotate the secret?"
        action="Rotate"
        about="For 24 hours, messages are signed with both secrets, so that you can update your server."
      >
        Rotate the secret
      </ConfirmedButton>
      <ShownOnce title="The webhook’s new secret" secret={secret} onClose={() => setSecret(null)}>
        Your server verifies the signatures of messages with it.
      </ShownOnce>
    </>
  );
}
