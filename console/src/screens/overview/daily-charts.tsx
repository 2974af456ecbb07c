import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { activityQuery, type Activity } from '../../api/queries.ts';
import { Chart } from '../../ui/chart.tsx';
import { number } from '../../ui/format.ts';
import { Failed, Panel } from '../../ui/parts.tsx';

type Series = Exclude<keyof Activity['days'][number], 'date'>;

const CHARTS: readonly { of: Series; title: string; sums: boolean; wide: boolean }[] = [
  { of: 'events', title: 'Events', sums: true, wide: true },
  // Active users of several days do not add up, since a user may be active on each.
  { of: 'activeUsers', title: 'Active users', sums: false, wide: true },
  { of: 'newUsers', title: 'New users', sums: true, wide: false },
  { of: 'pointsAwarded', title: 'Points awarded', sums: true, wide: false },
  { of: 'achievementsCompleted', title: 'Achievements completed', sums: true, wide: false },
];

/** The last 30 days, by UTC day. */
export function DailyCharts() {
  const activity = useQuery(activityQuery);
  if (activity.isError) return <Failed error={activity.error} retry={() => void activity.refetch()} />;
  if (activity.isPending) return <p className="h-40 text-muted">Loading …</p>;
  const { days } = activity.data;
  return (
    <section aria-label="The last 30 days" className="grid gap-4 sm:grid-cols-2 lg:grid-cols-6">
      {CHARTS.map((chart) => (
        <DailyChart key={chart.of} days={days} {...chart} />
      ))}
    </section>
  );
}

function DailyChart({ days, of, title, sums, wide }: { days: Activity['days'] } & (typeof CHARTS)[number]) {
  const x = useMemo(() => days.map(({ date }) => Date.parse(`${date}T00:00:00Z`) / 1_000), [days]);
  const y = useMemo(() => days.map((day) => day[of]), [days, of]);
  const summary = sums
    ? `${number(y.reduce((sum, one) => sum + one, 0))} in ${days.length} days`
    : `${number(y.at(-1) ?? 0)} today`;
  return (
    <Panel
      title={title}
      actions={<span className="text-xs whitespace-nowrap text-muted">{summary}</span>}
      className={wide ? 'lg:col-span-3' : 'last:sm:col-span-2 lg:col-span-2 last:lg:col-span-2'}
    >
      <Chart bars whole label={`${title} by day: ${summary}`} x={x} y={y} />
    </Panel>
  );
}
