import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { achievementsQuery, leaderboardsQuery, pointsQuery } from '../../api/queries.ts';
import { dateText } from '../../ui/format.ts';
import { Failed } from '../../ui/parts.tsx';
import { usersQuery } from '../analytics/queries.ts';
import { ChooseMetrics } from './choose-metrics.tsx';
import { POLLED, useRanges } from './week-ranges.ts';

/** Loaded once there is something to compare. */
const WeekTiles = lazy(async () => ({ default: (await import('./week-tiles.tsx')).WeekTiles }));

/** How the last 7 days compare with the week before. Each tile leads to its analysis. */
export function LastWeek() {
  const { week } = useRanges();
  const { error, data } = useQuery({ ...usersQuery(week), ...POLLED });
  const isFirstDay = data?.days.every((day) => day.activeUsers + day.activeUsersBefore === 0) === true;
  return (
    <section aria-label="The last 7 days" className="flex flex-col gap-2">
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <h2 className="font-semibold">
          The last 7 days{' '}
          <span className="font-normal text-muted">
            {dateText(Date.parse(week.from))} to {dateText(Date.parse(week.to))}, compared with the week before
          </span>
        </h2>
        <ChooseMetrics />
      </header>
      {error !== null && <Failed error={error} />}
      {isFirstDay && <FirstDay />}
      {data !== undefined && !isFirstDay && (
        <Suspense>
          <WeekTiles />
        </Suspense>
      )}
    </section>
  );
}

/** Instead of the tiles, which would all show 0: what gives users a reason to return, as far as there is none. */
function FirstDay() {
  const [achievements, systems, boards] = useQueries({
    queries: [achievementsQuery, pointsQuery, leaderboardsQuery],
  }).map(({ data }) => data as readonly unknown[] | undefined);
  const steps = [
    { of: achievements, to: '/achievements', text: 'Create an achievement', why: 'that users complete' },
    { of: systems, to: '/points', text: 'Create a points system', why: 'that rewards what users do' },
    { of: boards, to: '/leaderboards', text: 'Create a leaderboard', why: 'on which users compare' },
  ].filter(({ of }) => of?.length === 0);
  return (
    <>
      <p className="text-muted">
        No user was active in these two weeks, so there is nothing to compare yet. Today counts here from tomorrow on.
        {steps.length > 0 ? ' Meanwhile:' : ' Meanwhile, the charts below show today.'}
      </p>
      <ul className="list-disc pl-5">
        {steps.map(({ to, text, why }) => (
          <li key={to}>
            <Link to={to as '/'} className="text-accent underline">
              {text}
            </Link>{' '}
            {why}
          </li>
        ))}
      </ul>
    </>
  );
}
