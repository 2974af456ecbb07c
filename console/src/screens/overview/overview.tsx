import { useQuery } from '@tanstack/react-query';
import { useFeed } from '../../api/feed.ts';
import { metricsQuery, organisationQuery } from '../../api/queries.ts';
import { Failed, Screen } from '../../ui/parts.tsx';
import { Attention } from './attention.tsx';
import { Changes } from './changes.tsx';
import { DailyCharts } from './daily-charts.tsx';
import { Figures } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import { Holders } from './holders.tsx';
import { Levels } from './levels.tsx';
import { NewestCompletions, NewestEvents } from './newest.tsx';
import { TopBoards } from './top-boards.tsx';

/** Current figures, the last 30 days, and the top of leaderboards. */
export function Overview() {
  const organisation = useQuery(organisationQuery).data;
  const metrics = useQuery(metricsQuery);
  return (
    <Screen title={organisation?.name ?? 'Overview'}>
      {metrics.isError && <Failed error={metrics.error} />}
      <Attention />
      <FirstSteps />
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
  const { perSecond, events } = useFeed();
  return (
    <>
      <Figures perSecond={perSecond} />
      <DailyCharts />
      <div className="grid gap-4 lg:grid-cols-2">
        <NewestEvents events={events} />
        <NewestCompletions />
      </div>
    </>
  );
}
