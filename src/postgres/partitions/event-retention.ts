import type { Pool, PoolClient } from 'pg';
import { DEFAULT_EVENT_SETTINGS } from '../../domain/fields/tenant-settings.ts';
import { lockCursors } from '../shards.ts';
import { addAwards, addEvents } from './dropped-days.ts';
import { LOCK_WAIT_MS, whole } from './event-partitions.ts';

/** Events per slice, plus the rest of its last user's: about 50 ms during which nothing else is stored. */
const SLICE = 5_000;

interface Place {
  tenantNo: number;
  userId: string;
}

/** Moves a slice to the day sums. Parameters: the user before the slice, and its last user (`null`: the last). */
const move = (table: string, add: (rows: string) => string): string => `
  WITH gone AS (
    DELETE FROM ${table}
     WHERE (tenant_no, user_id) > ($1, $2) AND ($3::int IS NULL OR (tenant_no, user_id) <= ($3, $4)) RETURNING *
  ), added AS (${add(`(
    SELECT * FROM gone WHERE NOT EXISTS (
      SELECT FROM summed_users AS summed WHERE summed.tenant_no = gone.tenant_no AND summed.user_id = gone.user_id)) AS unsummed`)})
  SELECT count(*)::float8 AS moved FROM gone`;

/** Progress value: all users are moved. */
const ALL_MOVED = 2_147_483_647;

/** Approximate number of events in a range, from Postgres's statistics; `null` if there are none yet. */
export async function eventsLeft(pool: Pool, part: number): Promise<number | null> {
  const { rows } = await pool.query<{ events: number }>(
    `SELECT reltuples::float8 AS events FROM pg_class WHERE oid = to_regclass('events_d${whole(part)}')`,
  );
  const events = rows[0]?.events ?? -1;
  return events < 0 ? null : events;
}

/**
 * Moves the events and awards of a range's next users to their day sums and records the progress. The first call marks the
 * range as dropped. Writers wait for the transaction, so that no rows are added to a user meanwhile. Returns how many events
 * were moved; `null` if all are moved.
 * @param part first day of the range
 */
export async function moveNextUsers(client: PoolClient, part: number): Promise<number | null> {
  await lockCursors(client);
  const { rows } = await client.query<Place>(
    `UPDATE event_partitions SET is_dropped = true WHERE first_day = $1 AND NOT is_gone
     RETURNING coalesce(summed_tenant, -1) AS "tenantNo", coalesce(summed_user, '') AS "userId"`,
    [part],
  );
  const after = rows[0];
  if (after === undefined || after.tenantNo === ALL_MOVED) return null;
  const last = await client.query<Place>(
    `SELECT tenant_no AS "tenantNo", user_id AS "userId" FROM events_d${whole(part)}
      WHERE (tenant_no, user_id) > ($1, $2) ORDER BY tenant_no, user_id LIMIT 1 OFFSET ${SLICE}`,
    [after.tenantNo, after.userId],
  );
  const upTo = last.rows[0];
  const values = [after.tenantNo, after.userId, upTo?.tenantNo ?? null, upTo?.userId ?? null];
  const moved = await client.query<{ moved: number }>(move(`events_d${part}`, addEvents), values);
  await client.query(move(`awards_d${part}`, addAwards), values);
  await client.query('UPDATE event_partitions SET summed_tenant = $2, summed_user = $3 WHERE first_day = $1', [
    part,
    upTo?.tenantNo ?? ALL_MOVED,
    upTo?.userId ?? '',
  ]);
  return moved.rows[0]!.moved;
}

/**
 * Drops the tables of a range once their contents are moved. Returns false if rows were added after their user was moved (an
 * event released from quarantine); they must be moved again. Rejects if it does not get its locks within a second.
 * Idempotent.
 */
export async function dropEvents(client: PoolClient, part: number): Promise<boolean> {
  await lockCursors(client);
  const { rowCount } = await client.query('SELECT FROM event_partitions WHERE first_day = $1 AND is_gone', [part]);
  if (rowCount === 1) return true;
  const { rows } = await client.query<{ empty: boolean }>(
    `SELECT NOT EXISTS (SELECT FROM events_d${whole(part)}) AND NOT EXISTS (SELECT FROM awards_d${part}) AS empty`,
  );
  const { empty } = rows[0]!;
  if (empty) {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
    await client.query(`DROP TABLE events_d${part}, awards_d${part}`);
  }
  await client.query('UPDATE event_partitions SET is_gone = $2, summed_tenant = NULL WHERE first_day = $1', [
    part,
    empty,
  ]);
  return empty;
}

export async function mostLateDays(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ days: number }>(
    `SELECT max(coalesce((event_settings ->> 'lateEventDays')::int, $1)) AS days FROM tenants WHERE status = 'active'`,
    [DEFAULT_EVENT_SETTINGS.lateEventDays],
  );
  return rows[0]!.days;
}

/** Why events cannot be kept for only this many days; `null` if they can (or are kept forever). */
export async function retentionTooShort(pool: Pool, days: number | null): Promise<string | null> {
  const late = await mostLateDays(pool);
  return days === null || days > late
    ? null
    : `EVENT_RETENTION_DAYS is ${days}, but events may arrive up to ${late} days late (lateEventDays). Set it to at least ${late + 1}.`;
}
