import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { UserAchievementResponse } from '../../domain/achievement.ts';
import type { Days } from '../../domain/periods.ts';
import { floorOf } from '../../domain/leaderboard.ts';
import { boardStatus, runOf } from '../../domain/runs.ts';
import type { WrappedActivityPeriod, WrappedLeaderboard } from '../../domain/history.ts';
import { dayIn } from '../../domain/zone.ts';
import type { User } from '../../rules/user.ts';
import type { MetricDay, PointsDay } from '../../postgres/history/days.ts';
import type { KeptRuns } from '../leaderboards/kept-runs.ts';
import type { PastPlace } from '../leaderboards/runs.ts';
import { LiveStandings } from '../leaderboards/live-standings.ts';
import { achievementResponse } from '../responses/achievements.ts';
import { leaderboardResponse } from '../responses/leaderboards.ts';
import {
  type AttributeSums,
  type ComparedDays,
  type Percentile,
  wrappedMetrics,
  wrappedPoints,
} from './wrapped-changes.ts';
import { decimalNumber } from '../../domain/decimal.ts';

/** The periods of a wrapped year, in the order in which `YearFacts` lists their data. */
export const PERIODS = ['day', 'week', 'month', 'year'] as const;
export type Period = (typeof PERIODS)[number];

export type Percentiles = Record<'metrics' | 'points', Percentile>;

interface YearFacts {
  /** The catalog, including deleted resources. */
  known: CompiledCatalog;
  state: User;
  metricDays: readonly MetricDay[];
  pointsDays: readonly PointsDay[];
  places: readonly Place[];
  /** Whether the user sent an event in the year. */
  isActive: boolean;
  /** For each of `PERIODS`. */
  compared: readonly ComparedDays[];
  /** For each of `PERIODS`; `null` if percentiles are not shown. */
  percentiles: readonly (Percentiles | null)[];
  /** Windows: all time, then for each of `PERIODS` the period and the one before it. */
  sums: AttributeSums;
}

/** The window of a period, by its index in `PERIODS`. The next window is that of the period before. */
export const windowOf = (index: number): number => 1 + 2 * index;

/** The user's activity in the year or in its most active day, week or month. */
export async function wrappedPeriod(
  { known, state, metricDays, pointsDays, places, isActive, compared, percentiles, sums }: YearFacts,
  period: Period,
): Promise<WrappedActivityPeriod> {
  if (period !== 'year' && !isActive) return { metrics: {}, points: {}, achievements: [], leaderboards: {} };
  const index = PERIODS.indexOf(period);
  const days = compared[index] as ComparedDays;
  const percentile = percentiles[index] ?? null;
  return {
    metrics: await wrappedMetrics(known, {
      ...days,
      rows: metricDays,
      attributes: { sums, ever: 0, period: windowOf(index), before: windowOf(index) + 1 },
      state,
      percentile: percentile?.metrics ?? null,
    }),
    points: wrappedPoints(known, { ...days, rows: pointsDays, state, percentile: percentile?.points ?? null }),
    achievements: wrappedAchievements(known, state, days.days),
    // A perpetual board's run covers every year, so an inactive user would get a place, too.
    leaderboards: isActive ? wrappedLeaderboards(places, days.days) : {},
  };
}

/** The achievements that a user completed on some days, oldest first. Days are those of the user's current zone. */
function wrappedAchievements(
  compiled: CompiledCatalog,
  state: User,
  { fromDay, toDay }: Days,
): UserAchievementResponse[] {
  const completed = [...state.completions].filter(([, atMs]) => {
    const day = dayIn(state.zone, atMs);
    return day >= fromDay && day <= toDay;
  });
  return completed
    .sort(([no, a], [other, b]) => a - b || no - other)
    .flatMap(([no, atMs]) => {
      const achievement = compiled.achievementsByNo.get(no);
      if (achievement === undefined || achievement.status === 'inactive') return [];
      return [{ ...achievementResponse(compiled, achievement), achievedAt: new Date(atMs).toISOString() }];
    });
}

interface Place {
  key: string;
  /** First and last epoch day. `endDay` is `null` if the run does not end. */
  runDay: number;
  endDay: number | null;
  shown: WrappedLeaderboard;
}

/** A user's places in all runs, final or current. A perpetual board has one run, so its rank is the current one. */
export async function userPlaces(
  redis: Redis,
  past: KeptRuns,
  compiled: CompiledCatalog,
  { userId, state, utcDay }: { userId: string; state: User; utcDay: number },
): Promise<Place[]> {
  const { tenantNo } = compiled.catalog;
  const live = state.scores.flatMap((score) => {
    const { board: boardNo, runDay, group } = score;
    const board = compiled.leaderboardsByNo.get(boardNo);
    const isPlaced = board !== undefined && decimalNumber(score) > floorOf(board);
    return isPlaced ? [{ boardNo, runDay, group }] : [];
  });
  const [ended, kept] = await Promise.all([past.places(tenantNo, userId), past.kept(tenantNo, live)]);
  const current = await Promise.all(
    live.filter((score) => !kept.has(score)).map((score) => livePlace(redis, compiled, { userId, ...score })),
  );
  return [...ended, ...current.flatMap((place) => place ?? [])].flatMap(({ boardNo, runDay, rank, value }) => {
    const board = compiled.leaderboardsByNo.get(boardNo);
    const status = board === undefined ? null : boardStatus(board, utcDay);
    const run = board === undefined ? null : runOf(board, runDay);
    if (board === undefined || run === null || status === null || rank === null) return [];
    const shown = { ...leaderboardResponse(compiled, board), status, rank, value };
    return [{ key: board.key, runDay, endDay: run.endDay, shown }];
  });
}

async function livePlace(
  redis: Redis,
  { catalog, leaderboardsByNo }: CompiledCatalog,
  { userId, boardNo, runDay, group }: { userId: string; boardNo: number; runDay: number; group: string },
): Promise<PastPlace | null> {
  const board = leaderboardsByNo.get(boardNo);
  if (board === undefined) return null;
  const standings = new LiveStandings(redis, { tenantNo: catalog.tenantNo, boardNo, runDay, group }, board);
  const standing = await standings.find(userId);
  return standing?.isOn === true ? { boardNo, runDay, rank: standing.rank, value: standing.score } : null;
}

/** The best place on each board in runs that overlap some days, by board key. */
function wrappedLeaderboards(places: readonly Place[], { fromDay, toDay }: Days): Record<string, WrappedLeaderboard> {
  const best = new Map<string, WrappedLeaderboard>();
  for (const { key, runDay, endDay, shown } of places) {
    if (runDay > toDay || (endDay !== null && endDay < fromDay)) continue;
    if ((shown.rank ?? Infinity) < (best.get(key)?.rank ?? Infinity)) best.set(key, shown);
  }
  return Object.fromEntries(best);
}
