import { DEFAULT_EVENT_SETTINGS } from '../../domain/fields/tenant-settings.ts';
import { dateOf } from '../../domain/periods.ts';
import { lockCursors } from '../shards.ts';
import { LOCK_WAIT_MS, whole } from './event-partitions.ts';
import type { Pool, PoolClient } from 'pg';

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

const since = (firstId: string | undefined): string => (firstId === undefined ? '' : ` AND id >= ${firstId}::uuid`);

/** Whose rows to read, as SQL for a statement whose first parameter is the tenant's number. */
interface Asked {
  user: string;
  /** Further conditions on the number of the metric or points system, on `local_date` and, for events, on `attributes`. */
  where: string;
  /** Parameter with the first ID to read (`readSinceDay`); absent to read all. */
  firstId?: string;
  /** Reads only events with attributes, grouped by attributes. If absent, all events are read, without their attributes. */
  byAttributes?: true;
}

/** Evaluated once, because it does not depend on the table's rows; if false, Postgres does not read the table. */
const unlessSummed = ({ user, where, firstId, byAttributes }: Asked): string =>
  `tenant_no = $1 AND user_id = ${user} AND ${where}${byAttributes ? ' AND attributes IS NOT NULL' : ''}${since(firstId)}
       AND NOT EXISTS (SELECT FROM summed_users AS summed WHERE summed.tenant_no = $1 AND summed.user_id = ${user})`;

/**
 * The order of the index by user. It is only for the planner: if a few users have most events, the planner would expect that
 * many for everybody and scan whole partitions per user.
 */
const BY_INDEX = { events: 'ORDER BY metric_no, local_date', awards: 'ORDER BY system_no, id' };

/**
 * A user's events, for FROM. For users with day sums (`keepDaySums`): the sums of days. For others: one row per event, plus
 * the sums of dropped events.
 */
export const eventsAndSums = (asked: Asked): string => `(
    (SELECT user_id, metric_no, local_date, attributes, value, 1::bigint AS events, (value > 0)::int::bigint AS positive
      FROM events WHERE ${unlessSummed(asked)} ${BY_INDEX.events})
    UNION ALL
    SELECT user_id, metric_no, local_date, attributes, value, events, positive
      FROM event_days
     WHERE tenant_no = $1 AND user_id = ${asked.user} AND attributes_hash ${asked.byAttributes ? '>' : '='} '' AND ${asked.where})`;

/** A user's awards, in the same form. */
export const awardsAndSums = (asked: Asked): string => `(
    (SELECT user_id, system_no, local_date, awarded::numeric AS awarded
      FROM awards WHERE ${unlessSummed(asked)} ${BY_INDEX.awards})
    UNION ALL
    SELECT user_id, system_no, local_date, awarded
      FROM award_days WHERE tenant_no = $1 AND user_id = ${asked.user} AND ${asked.where})`;

/** Equal attributes have equal jsonb text. */
const HASH = `CASE WHEN sum.attributes IS NULL THEN ''::bytea ELSE substr(sha256(convert_to(sum.attributes::text, 'UTF8')), 1, 16) END`;

/**
 * Adds events to the sums of their days: to the day's sum of all events, and events with attributes also to the sum of those
 * with equal attributes. So a read without attributes needs one row per metric and day, regardless of the attributes that
 * clients send.
 * `rows`: for FROM, with the columns of `events`. Not idempotent.
 */
export const addEvents = (rows: string): string => `
  INSERT INTO event_days AS known (tenant_no, user_id, metric_no, local_date, attributes_hash, attributes, events, positive, value)
  SELECT tenant_no, user_id, metric_no, local_date, ${HASH}, sum.attributes, count(*), count(*) FILTER (WHERE value > 0), sum(value)
    FROM ${rows} CROSS JOIN LATERAL (
           SELECT NULL::jsonb AS attributes UNION ALL SELECT attributes WHERE attributes IS NOT NULL) AS sum
   GROUP BY tenant_no, user_id, metric_no, local_date, sum.attributes
  ON CONFLICT (tenant_no, user_id, attributes_hash, metric_no, local_date) DO UPDATE
    SET events = known.events + EXCLUDED.events, positive = known.positive + EXCLUDED.positive,
        value = known.value + EXCLUDED.value`;

export const addAwards = (rows: string): string => `
  INSERT INTO award_days AS known (tenant_no, user_id, system_no, local_date, awarded)
  SELECT tenant_no, user_id, system_no, local_date, sum(awarded)
    FROM ${rows} GROUP BY tenant_no, user_id, system_no, local_date
  ON CONFLICT (tenant_no, user_id, system_no, local_date) DO UPDATE SET awarded = known.awarded + EXCLUDED.awarded`;

/** First UTC day (epoch day) whose individual events and awards are kept; `null` if all are. */
export async function detailsFromDay(client: Pool | PoolClient): Promise<number | null> {
  const { rows } = await client.query<{ day: number | null }>(
    'SELECT max(end_day) AS day FROM event_partitions WHERE is_dropped',
  );
  return rows[0]!.day;
}

/** Whether an ID (32 hex digits or UUID) is older than the events that are kept. */
export async function isDropped(client: Pool | PoolClient, id: string): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM event_partitions WHERE is_dropped AND $1::uuid < end_id LIMIT 1', [
    id,
  ]);
  return rows.length > 0;
}

/** `detailsFromDay` as `YYYY-MM-DD`. */
export async function detailsFrom(client: Pool | PoolClient): Promise<string | null> {
  const day = await detailsFromDay(client);
  return day === null ? null : dateOf(day);
}
