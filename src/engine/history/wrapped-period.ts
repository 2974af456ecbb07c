import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { WrappedActivityPeriod } from '../../domain/wrapped.ts';
import type { AttributeSum } from '../../postgres/history/attribute-sums.ts';
import type { MetricDay, PointsDay } from '../../postgres/history/days.ts';
import type { UserState } from '../../packed/state.ts';
import { wrappedAchievements } from './wrapped-achievements.ts';
import { wrappedMetrics, wrappedPoints, type ComparedDays, type Percentile } from './wrapped-changes.ts';
import { wrappedLeaderboards, type Place } from './wrapped-leaderboards.ts';

/** The periods of a wrapped year, in the order in which `YearFacts` holds what belongs to each. */
export const PERIODS = ['day', 'week', 'month', 'year'] as const;
export type Period = (typeof PERIODS)[number];

export type Percentiles = Record<'metrics' | 'points', Percentile>;

/** What the periods of a user's wrapped year are made from. */
export interface YearFacts {
  /** With what was deleted since. */
  known: CompiledCatalog;
  state: UserState;
  metricDays: readonly MetricDay[];
  pointsDays: readonly PointsDay[];
  places: readonly Place[];
  /** Whether the user sent an event in the year. */
  isActive: boolean;
  /** Of each of `PERIODS`. */
  compared: readonly ComparedDays[];
  /** Of each of `PERIODS`; null: not shown. */
  percentiles: readonly (Percentiles | null)[];
  /** By metric. Windows: all time, then each of `PERIODS` and the one before it. */
  sums: ReadonlyMap<number, readonly AttributeSum[]>;
}

/** The window of a period, by its place among `PERIODS`; the one after it is of the period before. */
export const windowOf = (index: number): number => 1 + 2 * index;

/** What the user did in the most active day, week or month of the year, or in all of it. */
export function wrappedPeriod(
  { known, state, metricDays, pointsDays, places, isActive, compared, percentiles, sums }: YearFacts,
  period: Period,
): WrappedActivityPeriod {
  if (period !== 'year' && !isActive) return { metrics: {}, points: {}, achievements: [], leaderboards: {} };
  const index = PERIODS.indexOf(period);
  const days = compared[index] as ComparedDays;
  const percentile = percentiles[index] ?? null;
  return {
    metrics: wrappedMetrics(known, {
      ...days,
      rows: metricDays,
      attributes: { sums, ever: 0, period: windowOf(index), before: windowOf(index) + 1 },
      state,
      percentile: percentile?.metrics ?? null,
    }),
    points: wrappedPoints(known, { ...days, rows: pointsDays, state, percentile: percentile?.points ?? null }),
    achievements: wrappedAchievements(known, state, days.days),
    // A perpetual board's run covers every year: without activity in it the user has no place to look back on.
    leaderboards: isActive ? wrappedLeaderboards(places, days.days) : {},
  };
}
