import type { Pool, PoolClient } from 'pg';
import { dateOf } from '../../domain/periods.ts';

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
