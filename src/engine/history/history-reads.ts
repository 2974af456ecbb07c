import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { EventSummaryQuery } from '../../domain/history.ts';
import { microsNumber, toMicros, decimalText, ZERO } from '../../domain/decimal.ts';
import { dateOf, dayOf, isDate, periodOf, periodStart, type WeekStart } from '../../domain/periods.ts';
import { AppError } from '../../errors.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { type DayRows, metricDays, pointsDays } from '../../postgres/history/days.ts';
import { findMetric, findSystem } from '../find-configured.ts';
import { Slices } from '../../pacing/slices.ts';
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
  /**
   * JSON text of a user's total in each period of a range, as `EventSummaryEntry`s. Throws 404, 422 for an invalid range, 429 beyond
   * the limits.
   */
  async function metricSummary(compiled: CompiledCatalog, { userId, key, query }: SummaryCall): Promise<string> {
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
  async function pointsSummary(compiled: CompiledCatalog, { userId, key, query }: SummaryCall): Promise<string> {
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
  ): Promise<string> {
    const { firstPeriod, endPeriod, startOf } = summaryPeriods(query, catalog.streaks.weekStart);
    const { tenantNo } = catalog;
    await users.state(tenantNo, userId);
    const days = { tenantNo, userId, fromDay: startOf(firstPeriod), toDay: startOf(endPeriod) - 1 };
    const rows = await limits.run(tenantNo, userId, () => read.days(days));
    const current = rows.state === null ? '0' : read.total(decodeUser(rows.state));
    return summaryJson({ firstPeriod, endPeriod, startOf }, { ...rows, current });
  }

  return { metricSummary, pointsSummary };
}

export type HistoryReads = ReturnType<typeof createHistoryReads>;

interface Changes extends Pick<DayRows, 'later' | 'days' | 'changes'> {
  /** The total at the same moment, as decimal text. */
  current: string;
}

/** Entries between two checks of the slice. */
const WRITTEN_AT_ONCE = 128;

/**
 * The JSON text of one entry for each period, computed exactly from daily changes, in slices. Most entries of a long range equal
 * the one before except for their date, so writing texts takes a fraction of what objects and `JSON.stringify` do.
 */
async function summaryJson(
  { firstPeriod, endPeriod, startOf }: Periods,
  { current, later, days, changes }: Changes,
): Promise<string> {
  const slices = new Slices();
  const changed = changes.map(toMicros);
  let total = toMicros(current) - toMicros(later) - changed.reduce((sum, change) => sum + change, 0n);
  let shown = `,"total":${microsNumber(total)},"change":`;
  let at = 0;
  const entries: string[] = [];
  for (let period = firstPeriod; period < endPeriod; period += 1) {
    const endDay = startOf(period + 1);
    let change = 0n;
    for (; at < days.length && days[at]! < endDay; at += 1) change += changed[at]!;
    if (change !== 0n) {
      total += change;
      shown = `,"total":${microsNumber(total)},"change":`;
    }
    entries.push(`{"date":"${dateOf(startOf(period))}"${shown}${change === 0n ? 0 : microsNumber(change)}}`);
    if (period % WRITTEN_AT_ONCE === 0 && slices.over) await slices.turn();
  }
  return `[${entries.join(',')}]`;
}

/** Maximum number of periods in an event summary: ten years of days. */
const MAX_PERIODS = 3_660;

/** Consecutive periods. */
interface Periods {
  firstPeriod: number;
  /** Exclusive. */
  endPeriod: number;
  /** The first day (epoch day) of a period. */
  startOf: (period: number) => number;
}

/**
 * The periods that a range touches. They are whole, so that a period's figures are the
 * same in every range: the first may begin before the range and the last may end after it. Throws 422 for a date that
 * does not exist, and for a range that ends before it begins or has more than 3,660 periods.
 */
function summaryPeriods(query: EventSummaryQuery, weekStart: WeekStart): Periods {
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
  return {
    firstPeriod: from,
    endPeriod: to + 1,
    startOf: (period) => periodStart(period, aggregation, weekStart),
  };
}

const unprocessable = (text: string): AppError => new AppError('unprocessable', text);
