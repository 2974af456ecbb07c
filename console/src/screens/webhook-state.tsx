import { useQuery } from '@tanstack/react-query';
import { answer, one } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { useMayChange } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { ago, moment, number } from '../ui/format.ts';
import { Facts, Failed, Panel, Tag } from '../ui/parts.tsx';

const READ_MS = 3_000;

const useWebhookState = (id: string) =>
  useQuery({
    queryKey: ['webhooks', id, 'state'],
    refetchInterval: READ_MS,
    queryFn: () => answer(admin.GET('/v1/webhooks/{id}/state', { params: { path: { id } } })),
  });

/** Who disabled a webhook. */
export function DisabledTag({ id }: { id: string }) {
  const reason = useWebhookState(id).data?.disabledReason ?? null;
  return reason === null ? (
    <Tag>disabled</Tag>
  ) : (
    <span title={reason}>
      <Tag tone="bad">disabled by Laurel</Tag>
    </span>
  );
}

/** The status of a webhook: pending messages, failures, and the reason if nothing is sent. */
export function WebhookState({ id, enabled }: { id: string; enabled: boolean }) {
  const mayChange = useMayChange();
  const state = useWebhookState(id);
  const enable = useChange({
    run: () => one(admin.PATCH('/v1/webhooks', { body: [{ id, enabled: true }] })),
    done: 'The webhook is enabled.',
  });
  if (state.isError) return <Failed error={state.error} />;
  if (state.data === undefined) return null;
  const { waiting, oldest, full, failures, failingSince, pausedUntil, disabledReason, disabledAt } = state.data;
  return (
    <Panel
      title="Status"
      actions={
        enabled ? (
          <Tag tone={pausedUntil !== null ? 'bad' : failures > 0 ? 'warn' : 'good'}>
            {pausedUntil !== null ? 'paused' : failures > 0 ? 'failing' : 'sending'}
          </Tag>
        ) : (
          mayChange && (
            <Button disabled={enable.isPending} onClick={() => enable.mutate()}>
              Enable
            </Button>
          )
        )
      }
    >
      {!enabled && (
        <p className={`mb-2 ${disabledReason === null ? 'text-muted' : 'text-danger'}`}>
          {disabledReason === null
            ? 'An administrator disabled this webhook. No messages are sent.'
            : `Laurel disabled this webhook on ${moment(disabledAt)}: ${disabledReason}`}
        </p>
      )}
      <Facts
        of={[
          ['Pending', `${number(waiting)} messages${full ? ' (the queue is full)' : ''}`],
          ['Oldest pending message', oldest === null ? '–' : ago(oldest)],
          [
            'Failed attempts in a row',
            failingSince === null ? number(failures) : `${number(failures)}, since ${moment(failingSince)}`,
          ],
          ['Paused until', pausedUntil === null ? 'not paused' : moment(pausedUntil)],
        ]}
      />
    </Panel>
  );
}
