import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import {
  COUNTED,
  meanDifference,
  mondayOf,
  SEGMENT,
  shareDifference,
  utcDay,
  type Moments,
} from '../../domain/analytics.ts';
import type { AnalyticsEngagement, AnalyticsRetention } from '../../domain/analytics-responses.ts';
import { dateOf, type Days } from '../../domain/periods.ts';
import { readSums, sampledValues, type AnalyticsSum } from '../../postgres/analytics.ts';
import type { CaughtUp } from '../persist/caught-up-reads.ts';
import { isControl } from '../responses.ts';
import { comparedDays, type AnalyticsQuery } from './analytics-range.ts';
import { found } from './analytics-reads.ts';

/** Users whose events are looked at to compare groups: exact for tenants with no more. */
const SAMPLE_USERS = 1_500;
const WEEK_DAYS = 7;

const NO_DIFFERENCE = { difference: null, low: null, high: null };

/** Retention, and the control group compared with the other users. */
export class GroupComparison {
  private readonly options: {
    pool: Pool;
    clock: Clock;
    caughtUp: Pick<CaughtUp, 'tenant'>;
    controlShare: () => number;
  };

  constructor(options: GroupComparison['options']) {
    this.options = options;
  }

  /**
   * How many of the users who were first seen in each week were active in it and in the weeks after it, up to the current one; and how the
   * groups differ in the weeks that are over.
   */
  async retention(
    { catalog }: CompiledCatalog,
    query: Pick<AnalyticsQuery, 'from' | 'to'>,
  ): Promise<AnalyticsRetention> {
    const { pool, clock, caughtUp } = this.options;
    const { tenantNo } = catalog;
    const today = utcDay(clock.now());
    const { fromDay, toDay } = comparedDays(query, clock.now());
    await caughtUp.tenant(tenantNo);
    const cohorts = { fromDay: mondayOf(fromDay), toDay: mondayOf(toDay) + WEEK_DAYS - 1 };
    const read = async (segment: number): Promise<Cohort[]> => {
      const fresh = readSums(pool, { tenantNo, segment, kinds: [COUNTED.newUsers], ...cohorts });
      const until = { ...cohorts, toDay: Math.max(today, cohorts.toDay), fromPart: cohorts.fromDay };
      const active = readSums(pool, { tenantNo, segment, kinds: [COUNTED.retained], ...until });
      return cohortsOf({ cohorts, today, fresh: await fresh, active: await active });
    };
    const [everyone, control, others] = await Promise.all([
      read(SEGMENT.everyone),
      read(SEGMENT.control),
      read(SEGMENT.others),
    ]);
    return {
      from: dateOf(cohorts.fromDay),
      to: dateOf(cohorts.toDay),
      cohorts: everyone.map(({ week, users, weeks }) => ({
        date: dateOf(week),
        users,
        weeks,
        isComplete: week + weeks.length * WEEK_DAYS <= today,
      })),
      groups: groupWeeks({ control, others, today }),
    };
  }

  /** The sum of a metric's values per active user in each group, of a sample of the users. Active are those with an event in the range. 404. */
  async engagement(
    compiled: CompiledCatalog,
    { metricId, ...query }: Pick<AnalyticsQuery, 'from' | 'to'> & { metricId: string },
  ): Promise<AnalyticsEngagement> {
    const { pool, clock, caughtUp, controlShare } = this.options;
    const metric = found(compiled.metricsById.get(metricId), 'metric');
    const { tenantNo } = compiled.catalog;
    const { fromDay, toDay, dates } = comparedDays(query, clock.now());
    await caughtUp.tenant(tenantNo);
    const sample = await sampledValues(pool, { tenantNo, users: SAMPLE_USERS, metricNo: metric.no, fromDay, toDay });
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
}

/** Users who were first seen in a week (its Monday), and how many of them were active in it and each week after it. */
interface Cohort {
  week: number;
  users: number;
  weeks: number[];
}

function cohortsOf({
  cohorts,
  today,
  fresh,
  active,
}: {
  cohorts: Days;
  today: number;
  fresh: readonly AnalyticsSum[];
  active: readonly AnalyticsSum[];
}): Cohort[] {
  const users = new Map<number, number>();
  for (const { day, events } of fresh) users.set(mondayOf(day), (users.get(mondayOf(day)) ?? 0) + events);
  const weeks = new Map<string, number>();
  for (const { day, part, events } of active) weeks.set(`${part}:${day}`, events);
  const made: Cohort[] = [];
  for (let week = cohorts.fromDay; week <= cohorts.toDay; week += WEEK_DAYS) {
    const counts: number[] = [];
    for (let day = week; day <= today; day += WEEK_DAYS) counts.push(weeks.get(`${week}:${day}`) ?? 0);
    made.push({ week, users: users.get(week) ?? 0, weeks: counts });
  }
  return made;
}

/** All cohorts with users in both groups together, week by week; of each cohort only the weeks that are over. */
function groupWeeks({
  control,
  others,
  today,
}: {
  control: Cohort[];
  others: Cohort[];
  today: number;
}): AnalyticsRetention['groups'] {
  const made: AnalyticsRetention['groups'] = [];
  for (const [index, cohort] of control.entries()) {
    const other = others[index]!;
    if (cohort.users === 0 || other.users === 0) continue;
    for (const [week, controlActive] of cohort.weeks.entries()) {
      if (cohort.week + (week + 1) * WEEK_DAYS > today) break;
      const sum = (made[week] ??= {
        week,
        controlUsers: 0,
        controlActive: 0,
        otherUsers: 0,
        otherActive: 0,
        ...NO_DIFFERENCE,
      });
      sum.controlUsers += cohort.users;
      sum.controlActive += controlActive;
      sum.otherUsers += other.users;
      sum.otherActive += other.weeks[week]!;
    }
  }
  return made.map((sum) => {
    const shares = [
      { count: sum.controlActive, of: sum.controlUsers },
      { count: sum.otherActive, of: sum.otherUsers },
    ] as const;
    return { ...sum, ...(shareDifference(...shares) ?? NO_DIFFERENCE) };
  });
}

/** Welford's sums of the values of those who were active. */
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
