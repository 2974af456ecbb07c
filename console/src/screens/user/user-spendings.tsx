import { useInfiniteQuery } from '@tanstack/react-query';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin, application } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { Ago } from '../../ui/ago.tsx';
import { counted, number } from '../../ui/format.ts';
import { Failed, Tag } from '../../ui/parts.tsx';

const PAGE = 20;

type Spending = AdminRead<'/v1/users/{id}/spendings'>['spendings'][number];

/** What a user spent of a points system, newest first. Spendings can be refunded, and holds released. */
export function UserSpendings({ id, system, name }: { id: string; system: string; name: string }) {
  const pages = useInfiniteQuery({
    queryKey: ['user', id, 'spendings', system],
    queryFn: ({ pageParam }) =>
      answer(
        admin.GET('/v1/users/{id}/spendings', {
          params: {
            path: { id },
            query: { pointsSystem: system, limit: PAGE, ...(pageParam !== null && { cursor: pageParam }) },
          },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  if (pages.isError) return <Failed error={pages.error} retry={() => void pages.refetch()} />;
  const spendings = pages.data?.pages.flatMap((page) => page.spendings) ?? [];
  if (spendings.length === 0) return null;
  return (
    <div
      role="region"
      aria-label={`Spendings of ${name}`}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and the keyboard must be able to
      tabIndex={0}
      className="mt-3 max-h-72 overflow-y-auto border-t border-line pt-2"
    >
      <ul>
        {spendings.map((spending) => (
          <li
            key={spending.id}
            className="flex flex-wrap items-center gap-x-3 border-t border-line py-1 first:border-t-0"
          >
            <Ago at={spending.createdAt} className="whitespace-nowrap text-muted" />
            <span className="min-w-0 grow break-words">
              {[spending.reward, spending.reason, spending.reference].filter((text) => text).join('; ') || '–'}
            </span>
            <Tag>{spending.status}</Tag>
            <span>−{number(spending.amount)}</span>
            <GiveBack user={id} system={system} spending={spending} />
          </li>
        ))}
      </ul>
      {pages.hasNextPage && (
        <Button look="bare" disabled={pages.isFetching} onClick={() => void pages.fetchNextPage()}>
          Older
        </Button>
      )}
    </div>
  );
}

/** Refunds a spending, or releases a hold. */
function GiveBack({ user, system, spending }: { user: string; system: string; spending: Spending }) {
  const { id, status, amount, reward } = spending;
  const isHold = status === 'held';
  const path = { id: user, key: system };
  const give = useChange({
    run: () =>
      isHold
        ? answer(
            application.POST('/v1/users/{id}/points/{key}/holds/{holdId}/release', {
              params: { path: { ...path, holdId: id } },
            }),
          )
        : answer(
            application.POST('/v1/users/{id}/points/{key}/spendings/{spendingId}/refund', {
              params: { path: { ...path, spendingId: id } },
            }),
          ),
    done: isHold ? 'The hold is released.' : 'The spending is refunded.',
  });
  // A claim is cancelled instead.
  if (reward !== undefined || !['spent', 'captured', 'held'].includes(status)) return null;
  const action = isHold ? 'Release' : 'Refund';
  return (
    <ConfirmedButton
      look="bare"
      change={give}
      title={`${action} ${counted(amount, 'point')}?`}
      action={action}
      about="The user can spend them again. This cannot be undone."
    >
      {action}
    </ConfirmedButton>
  );
}
