import { useQuery } from '@tanstack/react-query';
import { useFeed } from '../../api/feed.ts';
import { activityQuery, metricsQuery, organisationQuery } from '../../api/queries.ts';
import { counted, number } from '../../ui/format.ts';
import { Failed, Screen } from '../../ui/parts.tsx';
import { Advice, Attention } from './attention.tsx';
import { Changes } from './changes.tsx';
import { DailyCharts } from './daily-charts.tsx';
import { FirstSteps } from './first-steps.tsx';
import { Holders } from './holders.tsx';
import { LastWeek } from './last-week.tsx';
import { Levels } from './levels.tsx';
import { NewestCompletions, NewestEvents } from './newest.tsx';
import { TopBoards } from './top-boards.tsx';

/** What needs attention, the last week and the last 30 days, live events, and the top of leaderboards. */
export function Overview() {
  const organisation = useQuery(organisationQuery).data;
  const metrics = useQuery(metricsQuery);
  const { users = 0, days = [] } = useQuery(activityQuery).data ?? {};
  return (
    <Screen
      title={organisation?.name ?? 'Overview'}
      about={users > 0 && `${counted(users, 'user')}, ${number(days.at(-1)?.activeUsers ?? 0)} of them active today`}
    >
      {metrics.isError && <Failed error={metrics.error} />}
      <Attention />
      <FirstSteps />
      <Advice />
      {users > 0 && <LastWeek />}
      <Now />
      <div className="grid gap-4 lg:grid-cols-2">
        <TopBoards />
        <Holders />
        <Levels />
        <Changes />
      </div>
    </Screen>
  );
}

/** The live part of the screen, drawn again with each event. */
function Now() {
  const { events } = useFeed();
  return (
    <>
      <DailyCharts />
      <div className="grid gap-4 lg:grid-cols-2">
        <NewestEvents events={events} />
        <NewestCompletions />
      </div>
    </>
  );
}
