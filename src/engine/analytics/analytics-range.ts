import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { SEGMENT } from '../../domain/analytics.ts';
import { dateOf, type Days } from '../../domain/periods.ts';
import type { AttributeFilter } from '../../domain/user.ts';
import { AppError } from '../../errors.ts';
import { NO_SEGMENT } from '../../postgres/analytics.ts';
import { segmentOf, type UserValue } from '../../postgres/analytics-segments.ts';
import { parseAttributeFilter } from '../attribute-filter.ts';
import { activityDays } from '../history/activity.ts';
import type { CaughtUp } from '../persist/caught-up-reads.ts';
import type { PointsReads } from '../points/points-reads.ts';
import type { CostlyReads } from './costly-reads.ts';

export interface AnalyticsOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  caughtUp: Pick<CaughtUp, 'tenant'>;
  points: Pick<PointsReads, 'summary' | 'levelSummary'>;
  /** Share of the users, 0 to 1, who are in the control group. */
  controlShare: () => number;
  costly: CostlyReads;
}

/** The parameters of most analytics: a range of days and a segment. */
export interface AnalyticsQuery {
  from?: string;
  to?: string;
  /** One pair of a user attribute and its value. */
  userAttributes?: AttributeFilter;
  group?: 'control' | 'others';
}

/** A range of days, and the period of the same length before it. */
export interface ComparedDays extends Days {
  fromBefore: number;
  dates: { from: string; to: string; fromBefore: string; toBefore: string };
}

/** The days of a query, by default the last 30 up to today; see `activityDays`. */
export function comparedDays(query: Pick<AnalyticsQuery, 'from' | 'to'>, nowMs: number): ComparedDays {
  const { from, to } = query;
  const days = activityDays({ ...(from !== undefined && { from }), ...(to !== undefined && { to }) }, nowMs);
  const fromBefore = days.fromDay - (days.toDay - days.fromDay + 1);
  return {
    ...days,
    fromBefore,
    dates: {
      from: dateOf(days.fromDay),
      to: dateOf(days.toDay),
      fromBefore: dateOf(fromBefore),
      toBefore: dateOf(days.fromDay - 1),
    },
  };
}

export interface AnalyticsScope {
  tenantNo: number;
  days: ComparedDays;
  segment: number;
  /** The value whose users are the segment; `null` for everyone and the groups. */
  value: UserValue | null;
}

/**
 * The days and the segment of a query, once the sums contain every event that was answered before. 422 for a bad range or
 * segment.
 */
export async function scopeOf(
  { pool, clock, caughtUp }: { pool: Pool; clock: Clock; caughtUp: Pick<CaughtUp, 'tenant'> },
  { catalog, userAttributes }: CompiledCatalog,
  query: AnalyticsQuery,
): Promise<AnalyticsScope> {
  const { tenantNo } = catalog;
  const days = comparedDays(query, clock.now());
  const pairs = parseAttributeFilter(query.userAttributes, userAttributes);
  if (pairs.length > 1 || (pairs.length > 0 && query.group !== undefined))
    throw new AppError('unprocessable', 'Give one segment: one pair in userAttributes, or group.');
  await caughtUp.tenant(tenantNo);
  const [pair] = pairs;
  if (pair === undefined) return { tenantNo, days, segment: SEGMENT[query.group ?? 'everyone'], value: null };
  const value = { tenantNo, attributeNo: pair.attribute.no, value: pair.value };
  return { tenantNo, days, segment: (await segmentOf(pool, value)) ?? NO_SEGMENT, value };
}

/** Sums by a number, such as a day; 0 for other numbers. */
export class Tallies {
  private readonly byNo = new Map<number, { events: number; value: bigint }>();

  add(no: number, { events, value }: { events: number; value: bigint }): void {
    const known = this.byNo.get(no);
    if (known === undefined) this.byNo.set(no, { events, value });
    else {
      known.events += events;
      known.value += value;
    }
  }

  events(no: number): number {
    return this.byNo.get(no)?.events ?? 0;
  }

  value(no: number): bigint {
    return this.byNo.get(no)?.value ?? 0n;
  }

  /** Ascending. */
  numbers(): number[] {
    return [...this.byNo.keys()].toSorted((a, b) => a - b);
  }

  eventCounts(): Map<number, number> {
    return new Map([...this.byNo].map(([no, { events }]) => [no, events]));
  }
}

/** A row for each day of a range, made from the day and its counterpart in the period before. */
export function daysOf<T>(
  { fromDay, toDay, fromBefore }: ComparedDays,
  row: (day: number, before: number) => T,
): (T & { date: string })[] {
  return Array.from({ length: toDay - fromDay + 1 }, (_, index) => ({
    date: dateOf(fromDay + index),
    ...row(fromDay + index, fromBefore + index),
  }));
}
