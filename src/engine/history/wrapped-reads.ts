import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { type CompiledCatalog, withDeleted } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { dateOf, DAY_MS, type Days, epochDay } from '../../domain/periods.ts';
import type { WrappedActivityPeriod, WrappedResponse } from '../../domain/history.ts';
import { dayIn } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { userAttributeSums, userMetricDays, userPointsDays } from '../../postgres/history/days.ts';
import { streakChangesSince } from '../../postgres/history/streaks.ts';
import type { User } from '../../rules/user.ts';
import type { KeptRuns } from '../leaderboards/kept-runs.ts';
import type { UserReads } from '../users/user-reads.ts';
import { userResponse } from '../responses/users.ts';
import { Distributions } from './distributions.ts';
import { longestStreak } from './longest-streak.ts';
import type { ReadLimits } from './read-limits.ts';
import type { AttributeSums, ComparedDays } from './wrapped-changes.ts';
import { type Percentiles, type Period, PERIODS, userPlaces, windowOf, wrappedPeriod } from './wrapped-period.ts';
import { daysBefore, daysOfYear, eventsByDay, yearActivity } from './year-activity.ts';
import { groupedBy } from '../../grouped.ts';
import { nextTurn } from '../../pacing/turns.ts';

const MAX_YEAR = 9999;
/** All days that exist, in epoch days. */
const EVER: Days = { fromDay: -(2 ** 30), toDay: 2 ** 30 };

interface WrappedReadsOptions {
  pool: Pool;
  limits: ReadLimits;
  redis: Redis;
  clock: Clock;
  users: Pick<UserReads, 'state'>;
  past: KeptRuns;
  /** The current share of users in the control group. */
  controlShare: () => number;
}

export function createWrappedReads(options: WrappedReadsOptions) {
  const { pool, users, limits, redis, clock, past, controlShare } = options;
  const distributions = new Distributions(options);

  /**
   * A user's activity in a year (default: the user's current one) and in its most active day, week and month. Events
   * and awards come from Postgres, which follows with a short delay; totals, achievements and ranks are live. Deleted
   * metrics, points systems and achievements are included with their last names. Throws 404 for an unknown user, 422
   * for a year after 9999, 429 beyond the limits.
   */
  async function read(compiled: CompiledCatalog, userId: string, year?: number): Promise<WrappedResponse> {
    if (year !== undefined && year > MAX_YEAR) throw new AppError('unprocessable', `year is beyond ${MAX_YEAR}.`);
    const { tenantNo } = compiled.catalog;
    const state = await users.state(tenantNo, userId);
    return limits.run(tenantNo, userId, () => readYear(compiled, userId, state, year));
  }

  async function readYear(
    compiled: CompiledCatalog,
    userId: string,
    state: User,
    year: number | undefined,
  ): Promise<WrappedResponse> {
    const { tenantNo, streaks } = compiled.catalog;
    const shownYear = year ?? new Date(dayIn(state.zone, clock.now()) * DAY_MS).getUTCFullYear();
    const whole = daysOfYear(shownYear);

    // The year's last week may end up to 6 days after the year.
    const everything = { tenantNo, userId, toDay: whole.toDay + 6 };
    const [metricDays, pointsDays, settlements, places] = await Promise.all([
      userMetricDays(pool, everything),
      userPointsDays(pool, everything),
      streakChangesSince(pool, { tenantNo, userId, frequency: streaks.frequency, fromDay: EVER.fromDay }),
      userPlaces(redis, past, compiled, { userId, state, utcDay: epochDay(clock.now()) }),
    ]);
    const known = await withDeleted(pool, compiled, [
      ...metricDays.map(({ metricNo }) => metricNo),
      ...pointsDays.map(({ systemNo }) => systemNo),
      ...state.completions.keys(),
    ]);
    const active = yearActivity(eventsByDay(metricDays), shownYear, streaks.weekStart);
    const isActive = active.daysActive > 0;
    const compared = PERIODS.map((period): ComparedDays => {
      const days = period === 'year' ? whole : active[period];
      return { days, before: daysBefore(period, days) };
    });
    const [sums, percentiles] = await Promise.all([
      attributeSums(compiled, userId, compared, isActive),
      Promise.all(compared.map(({ days }, index) => readPercentiles(tenantNo, days, isActive && index > 0))),
    ]);
    const facts = { known, state, metricDays, pointsDays, places, isActive, compared, percentiles, sums };
    const inNextTurn = async (period: Period): Promise<WrappedActivityPeriod> => {
      await nextTurn();
      return wrappedPeriod(facts, period);
    };
    const streak = longestStreak({
      settings: streaks,
      metricsById: compiled.metricsById,
      metricDays,
      settlements,
      year: whole,
      live: state.streaks[streaks.frequency],
    });
    return {
      user: userResponse(compiled, { userId, state, controlShare: controlShare() }),
      activity: {
        daysActive: active.daysActive,
        weeksActive: active.weeksActive,
        monthsActive: active.monthsActive,
        mostActiveDay: { ...(await inNextTurn('day')), date: dateOf(active.day.fromDay) },
        mostActiveWeek: {
          ...(await inNextTurn('week')),
          start: dateOf(active.week.fromDay),
          end: dateOf(active.week.toDay),
        },
        mostActiveMonth: {
          ...(await inNextTurn('month')),
          month: new Date(active.month.fromDay * DAY_MS).getUTCMonth(),
        },
        entireYear: { ...(await inNextTurn('year')), longestStreak: streak },
      },
    };
  }

  /** In the form of `YearFacts`. */
  async function attributeSums(
    { catalog, eventAttributes }: CompiledCatalog,
    userId: string,
    compared: readonly ComparedDays[],
    any: boolean,
  ): Promise<AttributeSums> {
    if (!any || eventAttributes.size === 0) return new Map();
    const windows = [EVER, ...compared.flatMap(({ days, before }) => [days, before])];
    const sums = await userAttributeSums(pool, {
      tenantNo: catalog.tenantNo,
      userId,
      windows,
      shown: PERIODS.map((_, index) => windowOf(index)),
      keys: [...eventAttributes.keys()],
    });
    const byMetric = groupedBy(sums, ({ metricNo }) => metricNo);
    return new Map([...byMetric].map(([metricNo, own]) => [metricNo, groupedBy(own, ({ key }) => key)]));
  }

  async function readPercentiles(tenantNo: number, days: Days, shown: boolean): Promise<Percentiles | null> {
    if (!shown) return null;
    const [metrics, points] = await Promise.all([
      distributions.percentiles('metrics', { tenantNo, ...days }),
      distributions.percentiles('points', { tenantNo, ...days }),
    ]);
    return { metrics, points };
  }

  return { read };
}

export type WrappedReads = ReturnType<typeof createWrappedReads>;
