import type { Pool, PoolClient } from 'pg';
import { firstIdAt, QUEUED_BEFORE_MS } from '../../domain/administration/timeline.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import { storableText } from '../storable-json.ts';

export interface StoredEvent {
  /** 32 hex digits. */
  id: string;
  userId: string;
  metricNo: number;
  /** Decimal text. */
  value: string;
  atMs: number;
  occurredMs: number;
  /** The user's local date of that time, `YYYY-MM-DD`. */
  localDate: string;
  attributes: Record<string, string> | null;
  /** The event that this one reverses (32 hex digits); `null` for ordinary events. */
  reverses: string | null;
}

export interface StoredReversal {
  /** ID of the opposite event, 32 hex digits. */
  id: string;
  root: string;
  inForce: boolean;
  awards: Compensated[];
  revoked: PackedCompletion[];
}

export interface StoredCompletion {
  achievementNo: number;
  /** 0 unless the achievement repeats. */
  period: number;
  atMs: number;
  /** Whether this event or a reversed one completed it. */
  ofEvent: boolean;
}

/** The first digits of an ID created at a time. */
const idAt = (ms: number): string => Math.max(ms, 0).toString(16).padStart(12, '0');

/** SQL: a UUID as 32 hex digits. */
const digitsOf = (column: string): string => `replace(${column}::text, '-', '')`;

const compensated = (award: string): string =>
  `json_build_array(${digitsOf(`${award}.id`)}, ${award}.system_no, ${award}.trigger_no, ${award}.awarded,
                    ${award}.local_date::date - DATE '1970-01-01', (extract(epoch FROM ${award}.at) * 1000)::bigint)`;

/** An event of a tenant by ID (32 hex digits or UUID), or `null`. */
export async function readEvent(client: PoolClient, tenantNo: number, id: string): Promise<StoredEvent | null> {
  const { rows } = await client.query<StoredEvent>(
    `SELECT ${digitsOf('events.id')} AS id, user_id AS "userId", metric_no AS "metricNo", value::text AS value,
            (extract(epoch FROM at) * 1000)::bigint AS "atMs",
            (extract(epoch FROM coalesce(occurred_at, at)) * 1000)::bigint AS "occurredMs",
            local_date AS "localDate", attributes,
            ${digitsOf('reverses')} AS reverses
       FROM events WHERE id = $1 AND tenant_no = $2`,
    [id, tenantNo],
  );
  return rows[0] ?? null;
}

export async function readLastReversal(client: PoolClient, root: string): Promise<StoredReversal | null> {
  const { rows } = await client.query<StoredReversal>(
    `SELECT ${digitsOf('reversals.id')} AS id, ${digitsOf('root_id')} AS root, in_force AS "inForce", awards, revoked
       FROM reversals WHERE root_id = $1 ORDER BY no DESC LIMIT 1`,
    [root],
  );
  return rows[0] ?? null;
}

/** The root event of a reversal; `null` if the event is not a reversal. */
export async function readRoot(client: PoolClient, id: string): Promise<string | null> {
  const { rows } = await client.query<{ root: string }>(
    `SELECT ${digitsOf('root_id')} AS root FROM reversals WHERE id = $1`,
    [id],
  );
  return rows[0]?.root ?? null;
}

/** What an event awarded, in the form that a reversal needs. One index scan per points system. */
export async function readAwards(
  client: PoolClient,
  { tenantNo, userId, id, systemNos }: { tenantNo: number; userId: string; id: string; systemNos: readonly number[] },
): Promise<Compensated[]> {
  const { rows } = await client.query<{ award: Compensated }>(
    `SELECT ${compensated('awards')} AS award
       FROM awards
      WHERE tenant_no = $1 AND user_id = $2 AND system_no = ANY ($3::int[]) AND id BETWEEN $4 AND $5
      ORDER BY id`,
    [tenantNo, userId, systemNos, `${id.slice(0, 28)}0000`, `${id.slice(0, 28)}ffff`],
  );
  return rows.map(({ award }) => award);
}

/** Allowance for clock differences between machines. */
const ID_AFTER_MS = 60_000;

/**
 * What some triggers awarded a user at some times, in the form that a reversal needs, without awards of reversals. Reads one
 * day of the user's awards per system and time.
 */
export async function readAwardsOf(
  client: PoolClient,
  filter: {
    tenantNo: number;
    userId: string;
    triggers: readonly { no: number; systemNo: number }[];
    timesMs: number[];
  },
): Promise<Compensated[]> {
  const { tenantNo, userId, triggers, timesMs } = filter;
  const times = [...new Set(timesMs)];
  const { rows } = await client.query<{ award: Compensated }>(
    `SELECT ${compensated('given')} AS award
       FROM unnest($3::bigint[], $6::uuid[], $7::uuid[]) AS time (at_ms, first_id, last_id)
       JOIN awards AS given ON given.tenant_no = $1 AND given.user_id = $2 AND given.system_no = ANY ($4::int[])
        AND given.id BETWEEN first_id AND last_id AND given.at = to_timestamp(at_ms / 1000.0)
      WHERE given.trigger_no = ANY ($5::int[])
        AND NOT EXISTS (
          SELECT FROM reversals r
           WHERE r.tenant_no = $1 AND r.user_id = $2 AND left(${digitsOf('r.id')}, 28) = left(${digitsOf('given.id')}, 28))
      ORDER BY given.id`,
    [
      tenantNo,
      userId,
      times,
      [...new Set(triggers.map(({ systemNo }) => systemNo))],
      triggers.map(({ no }) => no),
      times.map((ms) => idAt(ms - QUEUED_BEFORE_MS).padEnd(32, '0')),
      times.map((ms) => idAt(ms + ID_AFTER_MS).padEnd(32, 'f')),
    ],
  );
  return rows.map(({ award }) => award);
}

/** Those awards (32 hex digits each) that effective reversals of other events have taken. */
export async function readHeld(
  client: PoolClient,
  { tenantNo, userId, root, awards }: { tenantNo: number; userId: string; root: string; awards: readonly string[] },
): Promise<string[]> {
  if (awards.length === 0) return [];
  const { rows } = await client.query<{ award: string }>(
    `SELECT DISTINCT taken ->> 0 AS award
       FROM reversals r, jsonb_array_elements(r.awards) AS taken
      WHERE r.tenant_no = $1 AND r.user_id = $2 AND r.in_force AND r.root_id <> $3 AND taken ->> 0 = ANY ($4::text[])`,
    [tenantNo, userId, root, awards],
  );
  return rows.map(({ award }) => award);
}

export async function readCompletions(
  client: PoolClient,
  tenantNo: number,
  { id, userId, atMs }: StoredEvent,
): Promise<StoredCompletion[]> {
  const { rows } = await client.query<StoredCompletion>(
    `WITH gone AS (
       SELECT $3::uuid AS id, to_timestamp($4 / 1000.0) AS at
       UNION ALL
       SELECT r.root_id, e.at FROM reversals r LEFT JOIN events e ON e.id = r.root_id
        WHERE r.tenant_no = $1 AND r.user_id = $2 AND r.in_force)
     SELECT achievement_no AS "achievementNo", period, (extract(epoch FROM at) * 1000)::bigint AS "atMs",
            CASE WHEN caused_by IS NULL THEN at = ANY (ARRAY(SELECT at FROM gone))
                 ELSE caused_by = ANY (ARRAY(SELECT id FROM gone)) END AS "ofEvent"
       FROM completions WHERE tenant_no = $1 AND user_id = $2`,
    [tenantNo, userId, id, atMs],
  );
  return rows;
}

interface EventsOfUser {
  tenantNo: number;
  userId: string;
  metricNos: readonly number[];
  fromMs: number;
  /** Exclusive. */
  toMs: number;
  most: number;
}

/** Parameters: tenant, user, metrics, from and to (epoch ms). */
const SENT = `e.tenant_no = $1 AND e.user_id = $2 AND e.metric_no = ANY ($3::int[]) AND e.reverses IS NULL
          AND e.at >= to_timestamp($4 / 1000.0) AND e.at < to_timestamp($5 / 1000.0)`;

/**
 * IDs (32 hex digits) of the events that a user sent in a period, oldest first, at most `most`. Excludes opposite and
 * reversed events. Scans an index for the days of each metric, and another for events that came days late (`events_late`).
 */
export async function findEvents(
  pool: Pool,
  { tenantNo, userId, metricNos, fromMs, toMs, most }: EventsOfUser,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT replace(id::text, '-', '') AS id
       FROM (SELECT e.id FROM events e
              WHERE ${SENT}
                AND e.local_date BETWEEN (to_timestamp($4 / 1000.0) AT TIME ZONE 'UTC')::date - 1
                                     AND (to_timestamp($5 / 1000.0) AT TIME ZONE 'UTC')::date + 1
             UNION
             SELECT e.id FROM events e
              WHERE ${SENT}
                AND e.id >= $7::uuid
                AND e.at - TIMESTAMPTZ '2000-01-01 00:00:00+00'
                    >= (e.local_date - DATE '2000-01-01' + 2) * INTERVAL '1 day') AS sent
      WHERE NOT EXISTS (SELECT FROM reversals r WHERE r.root_id = sent.id AND r.in_force)
      ORDER BY id
      LIMIT $6`,
    [tenantNo, storableText(userId), metricNos, fromMs, toMs, most, firstIdAt(Math.max(fromMs - QUEUED_BEFORE_MS, 0))],
  );
  return rows.map(({ id }) => id);
}

/** Whether a reversal is stored. `id`: 32 hex digits of the opposite event. */
export async function isReversalStored(pool: Pool, id: string): Promise<boolean> {
  const { rows } = await pool.query<{ stored: boolean }>(
    'SELECT EXISTS (SELECT FROM reversals WHERE id = $1) AS stored',
    [id],
  );
  return rows[0]!.stored;
}
