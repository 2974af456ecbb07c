import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { answer } from '../../api/answer.ts';
import { application } from '../../api/client.ts';
import { leaderboardsQuery } from '../../api/queries.ts';
import { number } from '../../ui/format.ts';
import { Panel } from '../../ui/parts.tsx';

const TOP = 5;
const BOARDS = 3;

export function TopBoards() {
  // A board with groups has no single top.
  const boards =
    useQuery(leaderboardsQuery)
      .data?.filter(({ status, breakdownAttributes }) => status === 'active' && breakdownAttributes.length === 0)
      .slice(0, BOARDS) ?? [];
  const tops = useQueries({
    queries: boards.map(({ key }) => ({
      queryKey: ['leaderboard', key, 'top'],
      refetchInterval: 5_000,
      queryFn: () =>
        answer(application.GET('/v1/leaderboards/{key}', { params: { path: { key }, query: { limit: TOP } } })),
    })),
  });
  return (
    <Panel title="Leaderboards">
      {boards.length === 0 && <p className="text-muted">No active leaderboards.</p>}
      <div className="flex flex-col gap-3">
        {boards.map(({ key, name }, index) => (
          <div key={key}>
            <Link to="/leaderboards/$key" params={{ key }} className="text-xs text-muted hover:underline">
              {name}
            </Link>
            <ol>
              {tops[index]?.data?.rankings.map(({ userId, userName, rank, value }) => (
                <li key={userId} className="flex items-center gap-3 py-0.5">
                  <span className="w-6 text-right text-muted">{rank}</span>
                  <Link to="/users/$id" params={{ id: userId }} className="grow truncate hover:underline">
                    {userName ?? userId}
                  </Link>
                  <span>{number(value)}</span>
                </li>
              ))}
            </ol>
            {tops[index]?.data?.rankings.length === 0 && <p className="text-muted">No participants yet.</p>}
          </div>
        ))}
      </div>
    </Panel>
  );
}
