import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';

/** Periods of a trigger that end in a span of time. */
export interface PeriodsAsked {
  tenantNo: number;
  triggerNo: number;
  /** Length of a period: a multiple of an hour, or of a day. */
  periodMs: number;
  /** Ends are wanted from this time on, epoch ms. */
  fromMs: number;
}

/** A period of a user that ended. */
export interface DuePeriod {
  tenantNo: number;
  triggerNo: number;
  userId: string;
  /** Its end, epoch ms. */
  dueMs: number;
}

export const HOUR_MS = 3_600_000;

/**
 * See `duePeriods`. OFFSET 0 keeps the planner from joining in another way than range by range: with a million users
 * it read all of them.
 */
export const DUE_PERIODS = `
  SELECT asked.tenant_no AS "tenantNo", asked.trigger_no AS "triggerNo", seen.id AS "userId", due_ms AS "dueMs"
    FROM unnest($2::int[], $3::int[], $4::bigint[], $5::bigint[], $6::int[], $7::int[])
      AS asked (tenant_no, trigger_no, period_ms, from_ms, low, high)
   CROSS JOIN LATERAL (SELECT id, epoch_ms(created) AS first_ms FROM users
      WHERE tenant_no = asked.tenant_no AND epoch_ms(created) % 86400000 BETWEEN low AND high OFFSET 0) seen
   CROSS JOIN LATERAL generate_series($1::bigint - ($1::bigint - first_ms) % period_ms,
                                      greatest(from_ms, first_ms + 1), -period_ms) AS due_ms
   WHERE first_ms < $1::bigint
   ORDER BY due_ms, asked.tenant_no, seen.id, asked.trigger_no
   LIMIT $8`;

/**
 * The first of the periods asked for that ended up to `toMs`, in the order of their ends, then of users and
 * triggers. From `fromMs` to `toMs` may be a day at most. Reads, by an index, the users whose time of day of the first
 * sight is in that span: with hours, in any hour of the day, so that those of a span of an hour or more are all.
 */
export async function duePeriods(
  pool: Pool,
  { asked, toMs, limit }: { asked: readonly PeriodsAsked[]; toMs: number; limit: number },
): Promise<DuePeriod[]> {
  const ranges = asked.filter(({ fromMs }) => fromMs <= toMs).flatMap((periods) => timesOfDay(periods, toMs));
  if (ranges.length === 0) return [];
  const { rows } = await pool.query<DuePeriod>(DUE_PERIODS, [
    toMs,
    ranges.map(({ asked: { tenantNo } }) => tenantNo),
    ranges.map(({ asked: { triggerNo } }) => triggerNo),
    ranges.map(({ asked: { periodMs } }) => periodMs),
    ranges.map(({ asked: { fromMs } }) => fromMs),
    ranges.map(({ low }) => low),
    ranges.map(({ high }) => high),
    limit,
  ]);
  return rows;
}

/** The times of day (ms, both ends inside) at which those were first seen whose periods end in the span. */
function timesOfDay(asked: PeriodsAsked, toMs: number): { asked: PeriodsAsked; low: number; high: number }[] {
  const stepMs = asked.periodMs % DAY_MS === 0 ? DAY_MS : HOUR_MS;
  const length = Math.min(toMs - asked.fromMs, stepMs - 1);
  if (length === stepMs - 1) return [{ asked, low: 0, high: DAY_MS - 1 }];
  const ranges = [];
  for (let shift = 0; shift < DAY_MS; shift += stepMs) {
    const low = (asked.fromMs + shift) % DAY_MS;
    const high = low + length;
    ranges.push({ asked, low, high: Math.min(high, DAY_MS - 1) });
    if (high >= DAY_MS) ranges.push({ asked, low: 0, high: high - DAY_MS });
  }
  return ranges;
}
