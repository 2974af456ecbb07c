import { useQuery } from '@tanstack/react-query';
import { answer, one } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
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

/** Whether a webhook is sent messages, and who disabled it. */
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

/** How a webhook fares: what waits for it, whether its tries fail, and why nothing is sent where that is so. */
export function WebhookState({ id, enabled }: { id: string; enabled: boolean }) {
  const state = useWebhookState(id);
  const enable = useChange({
    run: () => one(admin.PATCH('/v1/webhooks', { body: [{ id, enabled: true }] })),
    done: 'Messages are sent again.',
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
          <Button disabled={enable.isPending} onClick={() => enable.mutate()}>
            Enable it
          </Button>
        )
      }
    >
      {!enabled && (
        <p className={`mb-2 ${disabledReason === null ? 'text-muted' : 'text-danger'}`}>
          {disabledReason === null
            ? 'An administrator disabled it: nothing is sent.'
            : `Laurel disabled it ${moment(disabledAt)}: ${disabledReason}`}
        </p>
      )}
      <Facts
        of={[
          ['Waiting', `${number(waiting)} messages${full ? ', as many as may' : ''}`],
          ['The oldest', oldest === null ? '–' : ago(oldest)],
          [
            'Failed tries in a row',
            failingSince === null ? number(failures) : `${number(failures)}, since ${moment(failingSince)}`,
          ],
          ['Paused until', pausedUntil === null ? 'not paused' : moment(pausedUntil)],
        ]}
      />
    </Panel>
  );
}
