import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import {
  COUNTED,
  meanDifference,
  mondayOf,
  RETURN_DAYS,
  SEGMENT,
  shareDifference,
  WEEK_DAYS,
  type Moments,
} from '../../domain/analytics.ts';
import type { AnalyticsEngagement, AnalyticsRetention } from '../../domain/analytics-responses.ts';
import { dateOf, type Days, epochDay } from '../../domain/periods.ts';
import { readSums, sampledValues, type AnalyticsSum } from '../../postgres/analytics.ts';
import type { CaughtUp } from '../persist/caught-up-reads.ts';
import { isControl } from '../responses/users.ts';
import { scopeOf, comparedDays, type AnalyticsQuery } from './analytics-range.ts';
import type { CostlyReads } from './costly-reads.ts';
import { found } from './figures.ts';

/** Size of the sample of users for engagement. Tenants with fewer users get exact figures. */
const SAMPLE_USERS = 1_500;

const NO_DIFFERENCE = { difference: null, low: null, high: null };

/** Retention and engagement, compared between the users of a segment and the others. */
export function createGroupComparison(options: {
  pool: Pool;
  clock: Clock;
  caughtUp: Pick<CaughtUp, 'tenant'>;
  controlShare: () => number;
  costly: CostlyReads;
}) {
  const { pool, clock, caughtUp, controlShare, costly } = options;

  /**
   * Of the users first seen in each week, how many were active in that week and in each week after it, up to the current one; and of
   * all of them together, how many were active exactly 1, 7 and 30 days later, if that day is over.
   * Compares the segment, by default the control group, with all other users in the weeks that are over. An attribute's
   * segment has the users who had the value when they were first seen.
   */
  async function retention(compiled: CompiledCatalog, query: AnalyticsQuery): Promise<AnalyticsRetention> {
    const { tenantNo, days, segment } = await scopeOf(options, compiled, query);
    const today = epochDay(clock.now());
    const cohorts = { fromDay: mondayOf(days.fromDay), toDay: mondayOf(days.toDay) + WEEK_DAYS - 1 };
    const read = async (of: number): Promise<Cohort[]> => {
      const fresh = readSums(pool, { tenantNo, segment: of, kinds: [COUNTED.newUsers], ...cohorts });
      const until = { ...cohorts, toDay: Math.max(today, cohorts.toDay), fromPart: cohorts.fromDay };
      const active = readSums(pool, { tenantNo, segment: of, kinds: [COUNTED.retained], ...until });
      return cohortsOf({ cohorts, today, fresh: await fresh, active: await active });
    };
    const compared = segment === SEGMENT.everyone ? SEGMENT.control : segment;
    const [everyone, own, group] = await Promise.all([
      read(SEGMENT.everyone),
      read(compared),
      read(compared === SEGMENT.others ? SEGMENT.control : SEGMENT.others),
    ]);
    const returned = await usersReturned(tenantNo, segment, cohorts, today);
    const isGroup = compared === SEGMENT.control || compared === SEGMENT.others;
    const others = isGroup ? group : everyone.map((cohort, index) => without(cohort, own[index]!));
    return {
      from: dateOf(cohorts.fromDay),
      to: dateOf(cohorts.toDay),
      cohorts: (segment === SEGMENT.everyone ? everyone : own).map(({ week, users, weeks }) => ({
        date: dateOf(week),
        users,
        weeks,
        isComplete: week + weeks.length * WEEK_DAYS <= today,
      })),
      returned,
      comparison: comparedWeeks({ own, others, today }),
    };
  }

  async function usersReturned(
    tenantNo: number,
    segment: number,
    cohorts: Days,
    today: number,
  ): Promise<AnalyticsRetention['returned']> {
    const until = { fromDay: cohorts.fromDay, toDay: cohorts.toDay + Math.max(...RETURN_DAYS) };
    const [fresh, active] = await Promise.all([
      readSums(pool, { tenantNo, segment, kinds: [COUNTED.newUsers], ...cohorts }),
      readSums(pool, { tenantNo, segment, kinds: [COUNTED.returned], ...until }),
    ]);
    return RETURN_DAYS.map((afterDays) => {
      const isAsked = (firstDay: number): boolean =>
        firstDay >= cohorts.fromDay && firstDay <= cohorts.toDay && firstDay + afterDays < today;
      const sum = (sums: readonly AnalyticsSum[]): number => sums.reduce((total, { events }) => total + events, 0);
      return {
        afterDays,
        users: sum(fresh.filter(({ day }) => isAsked(day))),
        active: sum(active.filter(({ day, part }) => part === afterDays && isAsked(day - afterDays))),
      };
    });
  }

  /**
   * The sum of a metric's values per active user in the control group and among the others, from a sample of users. A user with
   * an event in the range is active. 404.
   */
  async function engagement(
    compiled: CompiledCatalog,
    { metricId, ...query }: Pick<AnalyticsQuery, 'from' | 'to'> & { metricId: string },
  ): Promise<AnalyticsEngagement> {
    const metric = found(compiled.metricsById.get(metricId), 'metric');
    const { tenantNo } = compiled.catalog;
    const { fromDay, toDay, dates } = comparedDays(query, clock.now());
    await caughtUp.tenant(tenantNo);
    const sample = await costly.run(tenantNo, `sampled values ${metric.no} ${fromDay} ${toDay}`, () =>
      sampledValues(pool, { tenantNo, users: SAMPLE_USERS, metricNo: metric.no, fromDay, toDay }),
    );
    const share = controlShare();
    const control = sample.filter(({ id }) => isControl(id, share));
    const others = sample.filter(({ id }) => !isControl(id, share));
    const [ofControl, ofOthers] = [momentsOf(control), momentsOf(others)];
    const group = ({ n, mean }: Moments, users: number): AnalyticsEngagement['control'] => ({
      users,
      activeUsers: n,
      value: n * mean,
      perUser: n === 0 ? null : mean,
    });
    return {
      from: dates.from,
      to: dates.to,
      sampled: sample.length,
      control: group(ofControl, control.length),
      others: group(ofOthers, others.length),
      ...(meanDifference(ofControl, ofOthers) ?? NO_DIFFERENCE),
    };
  }

  return { retention, engagement };
}

/** Users who were first seen in a week (its Monday), and how many of them were active in that week and each later one. */
interface Cohort {
  week: number;
  users: number;
  weeks: number[];
}

function cohortsOf(sums: {
  cohorts: Days;
  today: number;
  fresh: readonly AnalyticsSum[];
  active: readonly AnalyticsSum[];
}): Cohort[] {
  const { cohorts, today, fresh, active } = sums;
  const users = new Map<number, number>();
  for (const { day, events } of fresh) users.set(mondayOf(day), (users.get(mondayOf(day)) ?? 0) + events);
  const weeks = new Map<string, number>();
  for (const { day, part, events } of active) weeks.set(`${part}:${day}`, events);
  const weekly: Cohort[] = [];
  for (let week = cohorts.fromDay; week <= cohorts.toDay; week += WEEK_DAYS) {
    const counts: number[] = [];
    for (let day = week; day <= today; day += WEEK_DAYS) counts.push(weeks.get(`${week}:${day}`) ?? 0);
    weekly.push({ week, users: users.get(week) ?? 0, weeks: counts });
  }
  return weekly;
}

/** The users of a cohort who are not in a segment. */
const without = (cohort: Cohort, own: Cohort): Cohort => ({
  week: cohort.week,
  users: cohort.users - own.users,
  weeks: cohort.weeks.map((active, week) => active - own.weeks[week]!),
});

/** Sums of all cohorts with users on both sides, by week; of each cohort only the weeks that are over. */
function comparedWeeks(groups: { own: Cohort[]; others: Cohort[]; today: number }): AnalyticsRetention['comparison'] {
  const { own, others, today } = groups;
  const compared: AnalyticsRetention['comparison'] = [];
  for (const [index, cohort] of own.entries()) {
    const other = others[index]!;
    if (cohort.users === 0 || other.users === 0) continue;
    for (const [week, active] of cohort.weeks.entries()) {
      if (cohort.week + (week + 1) * WEEK_DAYS > today) break;
      const sum = (compared[week] ??= {
        week,
        segmentUsers: 0,
        segmentActive: 0,
        otherUsers: 0,
        otherActive: 0,
        ...NO_DIFFERENCE,
      });
      sum.segmentUsers += cohort.users;
      sum.segmentActive += active;
      sum.otherUsers += other.users;
      sum.otherActive += other.weeks[week]!;
    }
  }
  return compared.map((sum) => {
    const shares = [
      { count: sum.segmentActive, of: sum.segmentUsers },
      { count: sum.otherActive, of: sum.otherUsers },
    ] as const;
    return { ...sum, ...(shareDifference(...shares) ?? NO_DIFFERENCE) };
  });
}

/** Moments of the active users' values, by Welford's method. */
function momentsOf(sample: readonly { value: number | null }[]): Moments {
  const moments = { n: 0, mean: 0, squares: 0 };
  for (const { value } of sample) {
    if (value === null) continue;
    moments.n += 1;
    const distance = value - moments.mean;
    moments.mean += distance / moments.n;
    moments.squares += distance * (value - moments.mean);
  }
  return moments;
}
