import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import { storableText } from '../storable-json.ts';
import type { TimelineRange } from '../timeline/entries.ts';
import type { EventRow } from '../persist/events.ts';

export interface QuarantinedRow extends Pick<
  EventRow,
  'id' | 'tenantNo' | 'userId' | 'metricNo' | 'value' | 'atMs' | 'attributes' | 'idempotencyKey'
> {
  /** GUARD. */
  guard: number;
}

const QUARANTINED = columns<QuarantinedRow>({
  id: 'uuid',
  tenantNo: 'int',
  userId: 'text',
  metricNo: 'int',
  guard: 'int',
  value: 'numeric',
  atMs: ['time', 'at'],
  attributes: 'jsonb',
  idempotencyKey: 'text',
});
const INSERT = QUARANTINED.insertInto('quarantine');

/** Adds events to the quarantine. An existing ID is an error (23505), because the cursor guarantees that each is new. */
export async function insertQuarantined(client: PoolClient, kept: readonly QuarantinedRow[]): Promise<void> {
  if (kept.length > 0) await client.query(INSERT, QUARANTINED.arrays(kept));
}

/** Stored status of a quarantined event. */
export const QUARANTINE_STATUS = { waiting: 1, released: 2, dropped: 3 } as const;

export interface SettledRow {
  /** 32 hex digits. */
  id: string;
  status: typeof QUARANTINE_STATUS.released | typeof QUARANTINE_STATUS.dropped;
  atMs: number;
}

const SETTLED = columns<SettledRow>({ id: 'uuid', status: 'int', atMs: 'bigint' });
const SETTLE = `
  UPDATE quarantine SET status = done.status, settled = to_timestamp(done.at_ms / 1000.0)
    FROM ${SETTLED.unnest('done')} WHERE quarantine.id = done.id`;

/** Records which events were released or dropped. Idempotent. */
export async function settleQuarantined(client: PoolClient, settled: readonly SettledRow[]): Promise<void> {
  if (settled.length > 0) await client.query(SETTLE, SETTLED.arrays(settled));
}

export interface QuarantineRow {
  /** 32 hex digits. */
  id: string;
  userId: string;
  metricNo: number;
  guard: number;
  /** Decimal text. */
  value: string;
  atMs: number;
  attributes: Record<string, string> | null;
  idempotencyKey: string | null;
  /** QUARANTINE_STATUS. */
  status: number;
  settledMs: number | null;
}

interface QuarantineQuery {
  tenantNo: number;
  status: number;
  limit: number;
  /** Only events with smaller IDs (UUID). */
  before: string | null;
  userId: string | null;
  metricNo: number | null;
  guard: number | null;
  /** Sent at or after this time (epoch ms). */
  fromMs: number | null;
  /** Sent before this time. */
  toMs: number | null;
}

const COLUMNS = `
  replace(id::text, '-', '') AS id, user_id AS "userId", metric_no AS "metricNo", guard, value::text, attributes,
  (extract(epoch FROM at) * 1000)::float8 AS "atMs", idempotency_key AS "idempotencyKey", status,
  (extract(epoch FROM settled) * 1000)::float8 AS "settledMs"`;

/**
 * A page of a tenant's quarantine, newest first. An index provides the order, overall or per user. Filters on metric, guard
 * or time skip the rows in between, of which at most `QUARANTINED.most` are waiting.
 */
export async function listQuarantine(pool: Pool, query: QuarantineQuery): Promise<QuarantineRow[]> {
  const { tenantNo, status, limit, before, userId, metricNo, guard, fromMs, toMs } = query;
  const { rows } = await pool.query<QuarantineRow>(
    `SELECT ${COLUMNS} FROM quarantine
      WHERE tenant_no = $1 AND status = $2 AND ($3::uuid IS NULL OR id < $3) AND ($4::text IS NULL OR user_id = $4)
        AND ($5::int IS NULL OR metric_no = $5) AND ($6::int IS NULL OR guard = $6)
        AND ($7::float8 IS NULL OR at >= to_timestamp($7 / 1000)) AND ($8::float8 IS NULL OR at < to_timestamp($8 / 1000))
      ORDER BY id DESC LIMIT $9`,
    [tenantNo, status, before, userId && storableText(userId), metricNo, guard, fromMs, toMs, limit],
  );
  return rows;
}

export async function readQuarantined(pool: Pool, tenantNo: number, ids: readonly string[]): Promise<QuarantineRow[]> {
  const { rows } = await pool.query<QuarantineRow>(
    `SELECT ${COLUMNS} FROM quarantine WHERE tenant_no = $1 AND id = ANY ($2::uuid[])`,
    [tenantNo, ids],
  );
  return rows;
}

/** A user's quarantined events that were not released, in a part of a timeline, by ID. */
export async function unreleasedOf(
  pool: Pool,
  { tenantNo, userId, above, below, newest, limit }: TimelineRange,
): Promise<QuarantineRow[]> {
  const { rows } = await pool.query<QuarantineRow>(
    `SELECT ${COLUMNS} FROM quarantine
      WHERE tenant_no = $1 AND user_id = $2 AND quarantine.id > $3::uuid AND quarantine.id < $4::uuid
        AND status <> ${QUARANTINE_STATUS.released}
      ORDER BY quarantine.id ${newest ? 'DESC' : ''} LIMIT $5`,
    [tenantNo, storableText(userId), above, below, limit],
  );
  return rows;
}

export interface WaitingEvent {
  userId: string;
  /** 32 hex digits. */
  id: string;
  guard: number;
}

export async function waitingTenants(pool: Pool): Promise<number[]> {
  const { rows } = await pool.query<{ tenantNo: number }>(
    `SELECT no AS "tenantNo" FROM tenants
      WHERE EXISTS (SELECT FROM quarantine WHERE tenant_no = no AND status = ${QUARANTINE_STATUS.waiting})`,
  );
  return rows.map(({ tenantNo }) => tenantNo);
}

/** The number of waiting events of a tenant, counted up to `most`. */
export async function countWaitingEvents(pool: Pool, tenantNo: number, most: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM (
       SELECT FROM quarantine WHERE tenant_no = $1 AND status = ${QUARANTINE_STATUS.waiting} LIMIT $2) AS counted`,
    [tenantNo, most],
  );
  return rows[0]!.count;
}

/** All waiting events of a tenant; at most `QUARANTINED.most`. */
export async function waitingEvents(pool: Pool, tenantNo: number): Promise<WaitingEvent[]> {
  const { rows } = await pool.query<WaitingEvent>(
    `SELECT user_id AS "userId", replace(id::text, '-', '') AS id, guard FROM quarantine
      WHERE tenant_no = $1 AND status = ${QUARANTINE_STATUS.waiting} ORDER BY id`,
    [tenantNo],
  );
  return rows;
}

interface GuardCount {
  metricNo: number;
  guard: number;
  refused: number;
  clamped: number;
  quarantined: number;
  last: Date;
}

export async function guardCounts(pool: Pool, tenantNo: number, userId: string): Promise<GuardCount[]> {
  const { rows } = await pool.query<GuardCount>(
    `SELECT metric_no AS "metricNo", guard, refused::float8, clamped::float8, quarantined::float8, last FROM guard_counts
      WHERE tenant_no = $1 AND user_id = $2 ORDER BY metric_no, guard`,
    [tenantNo, storableText(userId)],
  );
  return rows;
}

export interface GuardedRow extends Pick<QuarantinedRow, 'tenantNo' | 'userId' | 'metricNo' | 'guard' | 'atMs'> {
  outcome: 'refused' | 'clamped' | 'quarantined';
}

const GUARDED = columns<GuardedRow>({
  tenantNo: 'int',
  userId: 'text',
  metricNo: 'int',
  guard: 'int',
  outcome: 'text',
  atMs: 'bigint',
});
const UPSERT = `
  INSERT INTO guard_counts AS counted (tenant_no, user_id, metric_no, guard, refused, clamped, quarantined, last)
  SELECT tenant_no, user_id, metric_no, guard, count(*) FILTER (WHERE outcome = 'refused'),
         count(*) FILTER (WHERE outcome = 'clamped'), count(*) FILTER (WHERE outcome = 'quarantined'),
         to_timestamp(max(at_ms) / 1000.0)
    FROM ${GUARDED.unnest('stopped')}
   GROUP BY tenant_no, user_id, metric_no, guard
  ON CONFLICT (tenant_no, user_id, metric_no, guard) DO UPDATE
     SET refused = counted.refused + excluded.refused, clamped = counted.clamped + excluded.clamped,
         quarantined = counted.quarantined + excluded.quarantined, last = greatest(counted.last, excluded.last)`;

export async function countGuarded(client: PoolClient, guarded: readonly GuardedRow[]): Promise<void> {
  if (guarded.length > 0) await client.query(UPSERT, GUARDED.arrays(guarded));
}
