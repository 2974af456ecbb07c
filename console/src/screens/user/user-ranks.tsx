import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { answer } from '../../api/answer.ts';
import { application } from '../../api/client.ts';
import { leaderboardsQuery } from '../../api/queries.ts';
import { number } from '../../ui/format.ts';
import { Panel } from '../../ui/parts.tsx';

export function UserRanks({ id }: { id: string }) {
  const boards = useQuery(leaderboardsQuery);
  const shown = boards.data?.filter(({ status }) => status === 'active' || status === 'finished') ?? [];
  const ranks = useQueries({
    queries: shown.map(({ key }) => ({
      queryKey: ['user', id, 'rank', key],
      queryFn: () =>
        answer(
          application.GET('/v1/users/{id}/leaderboards/{key}', {
            params: { path: { id, key }, query: { numEvents: 1 } },
          }),
        ),
    })),
  });
  return (
    <Panel title="Ranks">
      {shown.length === 0 ? (
        <p className="text-muted">No active leaderboards.</p>
      ) : (
        <ul>
          {shown.map(({ key, name }, index) => {
            const rank = ranks[index]?.data;
            return (
              <li key={key} className="flex justify-between gap-3 py-1">
                <Link to="/leaderboards/$key" params={{ key }} className="truncate hover:underline">
                  {name}
                </Link>
                <span className="whitespace-nowrap">
                  {rank === undefined || rank.rank === null ? (
                    <span className="text-muted">no rank</span>
                  ) : (
                    <>
                      <strong>#{number(rank.rank)}</strong>{' '}
                      <span className="text-muted">{number(rank.value ?? 0)}</span>
                    </>
                  )}
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}
