import type { Pool } from 'pg';
import { columns } from './columns.ts';
import { DAY_MS } from '../domain/periods.ts';

/** An active `time` trigger, and up to when its periods are paid. */
export interface OpenTrigger {
  tenantNo: number;
  no: number;
  /** Version of the tenant's catalog at the time of the read. */
  version: number;
  activatedMs: number;
  unit: 'hours' | 'days';
  interval: number;
  /** All periods that ended before this (epoch ms) are paid; `null` if unknown. */
  nextMs: number | null;
}

export async function openTriggers(pool: Pool): Promise<OpenTrigger[]> {
  const { rows } = await pool.query<OpenTrigger>({
    name: 'open_triggers',
    text: `SELECT resource.tenant_no AS "tenantNo", resource.no, tenants.catalog_version AS version,
            coalesce((doc->>'activated')::bigint, epoch_ms(resource.created)) AS "activatedMs",
            coalesce(doc->>'timeUnit', 'days') AS unit, coalesce((doc->>'timeInterval')::int, 1) AS interval,
            progress.next_ms AS "nextMs"
       FROM catalog_resources resource
       JOIN tenants ON tenants.no = resource.tenant_no AND tenants.status = 'active'
       JOIN organisation ON multi_tenancy = (resource.tenant_no > 0)
       LEFT JOIN time_trigger_progress progress
         ON progress.tenant_no = resource.tenant_no AND progress.trigger_no = resource.no
      WHERE kind = 'points_trigger' AND deleted IS NULL AND doc->>'type' = 'time' AND doc->>'status' = 'active'
      ORDER BY 1, 2`,
  });
  return rows;
}

export interface TriggerPeriods {
  tenantNo: number;
  triggerNo: number;
  /** Length of a period: a multiple of an hour or of a day. */
  periodMs: number;
  fromMs: number;
}

export interface DuePeriod {
  tenantNo: number;
  triggerNo: number;
  userId: string;
  dueMs: number;
}

export const HOUR_MS = 3_600_000;

/** See `duePeriods`. OFFSET 0 forces the planner to join range by range; otherwise it read all of a million users. */
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
 * The first of the requested periods that ended up to `toMs`, in order of end, user and trigger. `fromMs` to `toMs` may span
 * at most a day. Uses an index to read only users whose creation time of day lies in that span. For periods in hours the
 * time within the hour counts, so a span of an hour or more covers all users.
 */
export async function duePeriods(
  pool: Pool,
  { asked, toMs, limit }: { asked: readonly TriggerPeriods[]; toMs: number; limit: number },
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

/** The last period of a page of a moment. */
export interface PeriodPlace {
  tenantNo: number;
  userId: string;
}

/** See `periodsAt`. The condition on the remainder of days is that of the index, which has the users' IDs in order. */
export const PERIODS_AT = `
  SELECT asked.tenant_no AS "tenantNo", asked.trigger_no AS "triggerNo", seen.id AS "userId", $1::bigint AS "dueMs"
    FROM unnest($2::int[], $3::int[], $4::bigint[], $5::int[]) AS asked (tenant_no, trigger_no, period_ms, time_of_day)
   CROSS JOIN LATERAL (SELECT id FROM users
      WHERE tenant_no = asked.tenant_no AND epoch_ms(created) % 86400000 = time_of_day
        AND id > CASE WHEN asked.tenant_no = $6 THEN $7 ELSE '' END
        AND epoch_ms(created) < $1::bigint AND ($1::bigint - epoch_ms(created)) % period_ms = 0
      ORDER BY id LIMIT $8) seen
   WHERE asked.tenant_no >= $6
   ORDER BY asked.tenant_no, seen.id, asked.trigger_no
   LIMIT $8`;

/**
 * A page of the requested periods that end at `dueMs`, in order of tenant, user and trigger, all of a user together. `after`: the last one of
 * the page before. At most `limit`, unless one user has more.
 */
export async function periodsAt(
  pool: Pool,
  page: { asked: readonly TriggerPeriods[]; dueMs: number; after: PeriodPlace | null; limit: number },
): Promise<{ periods: DuePeriod[]; isLast: boolean }> {
  const { asked, dueMs, after, limit } = page;
  const moments = asked.flatMap((periods) => timesOfDay({ ...periods, fromMs: dueMs }, dueMs));
  const { rows } = await pool.query<DuePeriod>(PERIODS_AT, [
    dueMs,
    moments.map(({ asked: { tenantNo } }) => tenantNo),
    moments.map(({ asked: { triggerNo } }) => triggerNo),
    moments.map(({ asked: { periodMs } }) => periodMs),
    moments.map(({ low }) => low),
    after?.tenantNo ?? -1,
    after?.userId ?? '',
    limit,
  ]);
  if (rows.length < limit) return { periods: rows, isLast: true };
  // The last user's other periods may be on the next page.
  const last = rows.at(-1)!;
  const whole = rows.filter(({ tenantNo, userId }) => tenantNo !== last.tenantNo || userId !== last.userId);
  return whole.length > 0
    ? { periods: whole, isLast: false }
    : periodsAt(pool, { asked, dueMs, after, limit: limit * 2 });
}

/** Ranges of the creation time of day (ms, inclusive) of users whose periods end in the span. */
function timesOfDay(asked: TriggerPeriods, toMs: number): { asked: TriggerPeriods; low: number; high: number }[] {
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

interface Progress {
  tenantNo: number;
  no: number;
  nextMs: number;
}

const PROGRESS = columns<Progress>({ tenantNo: 'int', no: ['int', 'trigger_no'], nextMs: 'bigint' });
const NOTE = `${PROGRESS.insertInto('time_trigger_progress')}
  ON CONFLICT (tenant_no, trigger_no) DO UPDATE SET next_ms = EXCLUDED.next_ms`;

export async function noteProgress(pool: Pool, triggers: readonly Progress[]): Promise<void> {
  if (triggers.length > 0) await pool.query(NOTE, PROGRESS.arrays(triggers));
}
