import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { EventSummaryEntry, EventSummaryQuery } from '../../domain/history.ts';
import { microsNumber, toMicros, decimalText, ZERO } from '../../domain/decimal.ts';
import {
  dateOf,
  dayOf,
  type Days,
  isDate,
  periodEnd,
  periodOf,
  periodStart,
  type WeekStart,
} from '../../domain/periods.ts';
import { AppError } from '../../errors.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { type DayRows, metricDays, pointsDays } from '../../postgres/history/days.ts';
import { findMetric, findSystem } from '../find-configured.ts';
import type { UserReads } from '../users/user-reads.ts';
import type { ReadLimits } from './read-limits.ts';

interface SummaryCall {
  userId: string;
  key: string;
  query: EventSummaryQuery;
}

/** Reads the history of users from Postgres, which follows events with a short delay. */
export function createHistoryReads({
  pool,
  users,
  limits,
}: {
  pool: Pool;
  users: Pick<UserReads, 'state'>;
  limits: ReadLimits;
}) {
  /** A user's total in each period of a range. Throws 404, 422 for an invalid range, 429 beyond the limits. */
  async function metricSummary(
    compiled: CompiledCatalog,
    { userId, key, query }: SummaryCall,
  ): Promise<EventSummaryEntry[]> {
    const metric = findMetric(compiled, key);
    return summary(
      compiled,
      { userId, query },
      {
        days: (days) => metricDays(pool, { ...days, metricNo: metric.no }),
        total: ({ totals }) => decimalText(totals.get(metric.no) ?? ZERO),
      },
    );
  }

  /** The same for a user's points in a points system. */
  async function pointsSummary(
    compiled: CompiledCatalog,
    { userId, key, query }: SummaryCall,
  ): Promise<EventSummaryEntry[]> {
    const system = findSystem(compiled, key);
    return summary(
      compiled,
      { userId, query },
      {
        days: (days) => pointsDays(pool, { ...days, systemNo: system.no }),
        total: ({ points }) => String(points.get(system.no) ?? 0),
      },
    );
  }

  async function summary(
    { catalog }: CompiledCatalog,
    { userId, query }: Omit<SummaryCall, 'key'>,
    read: {
      days: (days: { tenantNo: number; userId: string; fromDay: number; toDay: number }) => Promise<DayRows>;
      total: (state: User) => string;
    },
  ): Promise<EventSummaryEntry[]> {
    const periods = summaryPeriods(query, catalog.streaks.weekStart);
    const { tenantNo } = catalog;
    await users.state(tenantNo, userId);
    const fromDay = periods[0]?.fromDay ?? 0;
    const toDay = periods.at(-1)?.toDay ?? fromDay;
    const rows = await limits.run(tenantNo, userId, () => read.days({ tenantNo, userId, fromDay, toDay }));
    const current = rows.state === null ? '0' : read.total(decodeUser(rows.state));
    return summaryEntries(periods, { ...rows, current });
  }

  return { metricSummary, pointsSummary };
}

export type HistoryReads = ReturnType<typeof createHistoryReads>;

interface Changes extends Pick<DayRows, 'later' | 'days' | 'changes'> {
  /** The total at the same moment, as decimal text. */
  current: string;
}

/** One entry for each period, computed exactly from daily changes. */
function summaryEntries(periods: readonly Days[], { current, later, days, changes }: Changes): EventSummaryEntry[] {
  const entries: EventSummaryEntry[] = [];
  let total = toMicros(current) - toMicros(later);
  let totalNumber = microsNumber(total);
  let at = days.length - 1;
  for (const { fromDay } of periods.toReversed()) {
    let change = 0n;
    for (; at >= 0 && (days[at] as number) >= fromDay; at--) change += toMicros(changes[at] as string);
    entries.push({ date: dateOf(fromDay), total: totalNumber, change: change === 0n ? 0 : microsNumber(change) });
    if (change === 0n) continue;
    total -= change;
    totalNumber = microsNumber(total);
  }
  return entries.reverse();
}

/** Maximum number of periods in an event summary: ten years of days. */
const MAX_PERIODS = 3_660;

/**
 * The periods that a range touches, oldest first and without gaps. They are whole, so that a period's figures are the
 * same in every range: the first may begin before the range and the last may end after it. Throws 422 for a date that
 * does not exist, and for a range that ends before it begins or has more than 3,660 periods.
 */
function summaryPeriods(query: EventSummaryQuery, weekStart: WeekStart): Days[] {
  const { aggregation, startDate, endDate } = query;
  for (const [name, date] of Object.entries({ startDate, endDate })) {
    if (!isDate(date)) throw unprocessable(`${name} is not a date: give a day that exists as YYYY-MM-DD.`);
    // The calendar rules do not cover earlier years.
    if (date < '0100') throw unprocessable(`${name} is before the year 100.`);
  }
  const first = dayOf(startDate);
  const last = dayOf(endDate);
  if (last < first) throw unprocessable('endDate is before startDate: a range ends on or after the day it begins.');
  const from = periodOf(first, aggregation, weekStart);
  const to = periodOf(last, aggregation, weekStart);
  if (to - from >= MAX_PERIODS) {
    throw unprocessable(
      `The range from startDate to endDate has more than ${MAX_PERIODS} ${aggregation} periods: ask for parts of it.`,
    );
  }
  return Array.from({ length: to - from + 1 }, (_, index) => ({
    fromDay: periodStart(from + index, aggregation, weekStart),
    toDay: periodEnd(from + index, aggregation, weekStart),
  }));
}

const unprocessable = (text: string): AppError => new AppError('unprocessable', text);
