import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { activityQuery, type Activity } from '../../api/queries.ts';
import { Chart } from '../../ui/chart.tsx';
import { counted, number } from '../../ui/format.ts';
import { Failed, Panel } from '../../ui/parts.tsx';

type Series = Exclude<keyof Activity['days'][number], 'date'>;

const CHARTS: readonly { of: Series; title: string; sums: boolean; wide: boolean }[] = [
  { of: 'events', title: 'Events', sums: true, wide: true },
  // Active users of several days do not add up, since a user may be active on each.
  { of: 'activeUsers', title: 'Active users', sums: false, wide: true },
  { of: 'newUsers', title: 'New users', sums: true, wide: false },
  { of: 'achievementsCompleted', title: 'Achievements completed', sums: true, wide: false },
];
/** Points of different systems are different things, so each has a chart. */
const SYSTEMS = 3;

interface DailyChartProps {
  title: string;
  /** Start of each day, epoch seconds. */
  x: readonly number[];
  y: readonly number[];
  sums: boolean;
  wide: boolean;
}

function chartsOf({ days, pointsSystems }: Activity): DailyChartProps[] {
  const x = days.map(({ date }) => Date.parse(`${date}T00:00:00Z`) / 1_000);
  const counts = CHARTS.map(({ of, ...chart }) => ({ ...chart, x, y: days.map((day) => day[of]) }));
  const points = pointsSystems
    .slice(0, SYSTEMS)
    .map(({ name, awarded }) => ({ title: `${name} awarded`, x, y: awarded, sums: true, wide: false }));
  return [...counts, ...points];
}

/** The last 30 days. */
export function DailyCharts() {
  const activity = useQuery(activityQuery);
  const { data } = activity;
  const charts = useMemo(() => (data === undefined ? [] : chartsOf(data)), [data]);
  if (activity.isError) return <Failed error={activity.error} retry={() => void activity.refetch()} />;
  if (activity.isPending) return <p className="h-40 text-muted">Loading …</p>;
  return (
    <section aria-label="The last 30 days" className="grid gap-4 sm:grid-cols-2 lg:grid-cols-6">
      {charts.map((chart) => (
        <DailyChart key={chart.title} {...chart} />
      ))}
      <p className="text-xs text-muted sm:col-span-2 lg:col-span-6">
        Events and points count on the user’s local day on which they happened, as in Analytics; users and achievements
        on the UTC day on which Laurel recorded them.
      </p>
    </section>
  );
}

function DailyChart({ title, x, y, sums, wide }: DailyChartProps) {
  const summary = sums
    ? `${number(y.reduce((sum, one) => sum + one, 0))} in ${counted(x.length, 'day')}`
    : `${number(y.at(-1) ?? 0)} today`;
  return (
    <Panel
      title={title}
      actions={<span className="text-xs whitespace-nowrap text-muted">{summary}</span>}
      className={wide ? 'lg:col-span-3' : 'lg:col-span-2'}
    >
      <Chart bars whole label={`${title} by day: ${summary}`} x={x} y={y} />
    </Panel>
  );
}
