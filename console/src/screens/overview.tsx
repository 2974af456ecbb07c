import { useQueries, useQuery } from '@tanstack/react-query';
import { Link, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answer } from '../api/answer.ts';
import { admin, application } from '../api/client.ts';
import { serverMetricsQuery } from '../api/metrics.ts';
import {
  achievementsQuery,
  leaderboardsQuery,
  metricsQuery,
  organisationQuery,
  pointsQuery,
  raritiesQuery,
} from '../api/queries.ts';
import { ago, number } from '../ui/format.ts';
import { Code, Empty, Failed, Panel, Screen } from '../ui/parts.tsx';

const SHOWN = 8;
const TOP = 5;
const BOARDS = 3;

export function Overview() {
  const organisation = useQuery(organisationQuery).data;
  const metrics = useQuery(metricsQuery);
  return (
    <Screen title={organisation?.name ?? 'Overview'}>
      {metrics.isError && <Failed error={metrics.error} />}
      {metrics.data?.length === 0 && <FirstSteps />}
      <Counts />
      <div className="grid gap-4 lg:grid-cols-2">
        <Completions />
        <TopBoards />
        <Changes />
        <Levels />
      </div>
    </Screen>
  );
}

const FirstSteps = () => (
  <Empty
    title="Nothing is configured yet"
    curl={`curl -X POST ${location.protocol}//${location.hostname}:8080/v1/metrics/<metric>/event \\
  -H "X-API-KEY: $ADMIN_KEY" -H "Content-Type: application/json" \\
  -d '{"user":{"id":"ada"},"value":1}'`}
  >
    <Link to="/metrics" className="text-accent underline">
      Create a metric
    </Link>
    , then an{' '}
    <Link to="/achievements" className="text-accent underline">
      achievement
    </Link>{' '}
    on it, and send the first event:
  </Empty>
);

function Count({ to, name, value }: { to: NonNullable<LinkProps['to']>; name: string; value: number | undefined }) {
  return (
    <Link to={to} className="rounded-lg border border-line bg-surface px-3 py-2 hover:bg-hover">
      <span className="block text-xs text-muted">{name}</span>
      <span className="text-lg font-semibold">{value === undefined ? '–' : number(value)}</span>
    </Link>
  );
}

function Counts() {
  const metrics = useQuery(metricsQuery).data?.length;
  const achievements = useQuery(achievementsQuery).data?.filter(({ status }) => status === 'active').length;
  const systems = useQuery(pointsQuery).data?.length;
  const boards = useQuery(leaderboardsQuery).data?.filter(({ status }) => status === 'active').length;
  const server = useQuery(serverMetricsQuery).data;
  return (
    <div className="grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-6">
      <Count to="/metrics" name="Metrics" value={metrics} />
      <Count to="/achievements" name="Active achievements" value={achievements} />
      <Count to="/points" name="Points systems" value={systems} />
      <Count to="/leaderboards" name="Running leaderboards" value={boards} />
      <Count to="/system" name="Waiting to be stored" value={server?.values.get('laurel_outbox_entries')} />
      <Count to="/system" name="Dead letters" value={server?.values.get('laurel_dead_letters')} />
    </div>
  );
}

/** A share of a whole, as a bar behind its row. */
const Bar = ({ share, children }: { share: number; children: ReactNode }) => (
  <li className="relative flex justify-between gap-3 overflow-hidden rounded px-2 py-1">
    <span
      className="absolute inset-y-0 left-0 rounded bg-accent-soft"
      style={{ width: `${share * 100}%` }}
      aria-hidden
    />
    {children}
  </li>
);

function Completions() {
  const rarities = useQuery(raritiesQuery);
  const shown = rarities.data?.toSorted((a, b) => b.completions - a.completions).slice(0, SHOWN);
  return (
    <Panel title="Achievements by users who hold them">
      {rarities.isError && <Failed error={rarities.error} />}
      {shown?.length === 0 && <p className="text-muted">No achievement is active.</p>}
      <ul className="flex flex-col gap-1">
        {shown?.map(({ id, name, completions, rarity }) => (
          <Bar key={id} share={rarity / 100}>
            <span className="relative truncate">{name}</span>
            <span className="relative whitespace-nowrap">
              {number(completions)} <span className="text-muted">{number(rarity)} %</span>
            </span>
          </Bar>
        ))}
      </ul>
    </Panel>
  );
}

function TopBoards() {
  // One with groups is as many boards as there are groups: none of them is the top.
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
    <Panel title="Top of the leaderboards">
      {boards.length === 0 && <p className="text-muted">No leaderboard runs.</p>}
      <div className="flex flex-col gap-3">
        {boards.map(({ key, name }, index) => (
          <div key={key}>
            <Link to="/leaderboards/$key" params={{ key }} className="text-xs text-muted hover:underline">
              {name}
            </Link>
            <ol>
              {tops[index]?.data?.rankings.map(({ userId, userName, rank, value }) => (
                <li key={userId} className="flex gap-3 py-0.5">
                  <span className="w-6 text-right text-muted">{rank}</span>
                  <Link to="/users/$id" params={{ id: userId }} className="grow truncate hover:underline">
                    {userName ?? userId}
                  </Link>
                  <span>{number(value)}</span>
                </li>
              ))}
            </ol>
            {tops[index]?.data?.rankings.length === 0 && <p className="text-muted">Nobody yet.</p>}
          </div>
        ))}
      </div>
    </Panel>
  );
}

function Changes() {
  const entries = useQuery({
    queryKey: ['audit-log', 'newest'],
    queryFn: () => answer(admin.GET('/v1/audit-log', { params: { query: { limit: SHOWN, skip: 0 } } })),
  });
  return (
    <Panel title="Latest changes">
      {entries.isError && <Failed error={entries.error} />}
      <ul>
        {entries.data?.map(({ at, action, kind, name, userId, who }, index) => (
          <li key={index} className="flex gap-3 py-0.5">
            <span className="min-w-0 grow truncate">
              {action} {kind.replaceAll('_', ' ')} {name ?? userId ?? ''} <Code>{who}</Code>
            </span>
            <span className="whitespace-nowrap text-muted">{ago(at)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** How many users have reached each level. */
function Levels() {
  const systems = useQuery(pointsQuery).data?.slice(0, BOARDS) ?? [];
  const summaries = useQueries({
    queries: systems.map(({ key }) => ({
      queryKey: ['points', key, 'level-summary'],
      queryFn: () => answer(application.GET('/v1/points/{key}/level-summary', { params: { path: { key } } })),
    })),
  });
  return (
    <Panel title="Users by level">
      {systems.length === 0 && <p className="text-muted">There is no points system.</p>}
      <div className="flex flex-col gap-3">
        {systems.map(({ key, name }, index) => {
          const levels = summaries[index]?.data ?? [];
          const most = Math.max(1, ...levels.map(({ users }) => users));
          return (
            <div key={key}>
              <p className="text-xs text-muted">{name}</p>
              <ul className="flex flex-col gap-1">
                {levels.map(({ level, users }) => (
                  <Bar key={level.id} share={users / most}>
                    <span className="relative truncate">{level.name}</span>
                    <span className="relative">{number(users)}</span>
                  </Bar>
                ))}
              </ul>
              {levels.length === 0 && <p className="text-muted">It has no levels.</p>}
            </div>
          );
        })}
      </div>
    </Panel>
  );
}
