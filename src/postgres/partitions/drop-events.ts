import type { Pool, PoolClient } from 'pg';
import { lockCursors } from '../rebuild/storage-epochs.ts';
import { addAwards, addEvents } from './dropped-days.ts';
import { LOCK_WAIT_MS, whole } from './event-partitions.ts';

/** Events of a slice, besides the rest of its last user's: some 50 ms, for which nobody stores anything. */
const SLICE = 5_000;

interface Place {
  tenantNo: number;
  userId: string;
}

/**
 * Moves a slice of a table to the sums of days; of users who are summed it is in these already. Parameters: whom the slice begins
 * after, whom it ends with; null: with the last one.
 */
const move = (table: string, add: (rows: string) => string): string => `
  WITH gone AS (
    DELETE FROM ${table}
     WHERE (tenant_no, user_id) > ($1, $2) AND ($3::int IS NULL OR (tenant_no, user_id) <= ($3, $4)) RETURNING *
  ), added AS (${add(`(
    SELECT * FROM gone WHERE NOT EXISTS (
      SELECT FROM summed_users AS summed WHERE summed.tenant_no = gone.tenant_no AND summed.user_id = gone.user_id)) AS unsummed`)})
  SELECT count(*)::float8 AS moved FROM gone`;

/** After this all users are moved. */
const ALL_MOVED = 2_147_483_647;

/** About how many events a stretch has, as Postgres last counted them; null: it never did. */
export async function eventsLeft(pool: Pool, part: number): Promise<number | null> {
  const { rows } = await pool.query<{ events: number }>(
    `SELECT reltuples::float8 AS events FROM pg_class WHERE oid = to_regclass('events_d${whole(part)}')`,
  );
  const events = rows[0]?.events ?? -1;
  return events < 0 ? null : events;
}

/**
 * Moves the events and awards of a stretch's next users to the sums of their days, and notes how far it is. From the first time on the
 * stretch counts as dropped. Those who store wait for the transaction, so that nothing is added to a user meanwhile. How many events
 * were moved; null: all are.
 * @param part the first day of the stretch
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
 * Drops the tables of a stretch when what was in them is moved. Where something was added after its user was moved (an event that was
 * released from quarantine), false is answered: the rest is to be moved again. Rejects if it does not get its locks in a second. Idempotent.
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
