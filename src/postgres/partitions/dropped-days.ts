import type { Pool, PoolClient } from 'pg';
import { dateOf } from '../../domain/periods.ts';

const since = (firstId: string | undefined): string => (firstId === undefined ? '' : ` AND id >= ${firstId}::uuid`);

/** Whose rows, in SQL, in a statement whose first parameter is the tenant's number. */
interface Asked {
  user: string;
  /** Further conditions, on the number of the metric or points system, `local_date` and, of events, `attributes`. */
  where: string;
  /** The parameter with the first ID to look at (`readSinceDay`); left out: all are. */
  firstId?: string;
  /** Whether the events with attributes are asked for, by their attributes. Left out: all events, and the attributes are unknown. */
  byAttributes?: true;
}

/** Postgres asks it once and does not look at the table then: it has nothing of the table's rows. */
const unlessSummed = ({ user, where, firstId, byAttributes }: Asked): string =>
  `tenant_no = $1 AND user_id = ${user} AND ${where}${byAttributes ? ' AND attributes IS NOT NULL' : ''}${since(firstId)}
       AND NOT EXISTS (SELECT FROM summed_users AS summed WHERE summed.tenant_no = $1 AND summed.user_id = ${user})`;

/**
 * The order of the index by user. Nobody needs it; but where a few users have most of the events, Postgres expects as many of everybody
 * and would go through all of a partition for each.
 */
const BY_INDEX = { events: 'ORDER BY metric_no, local_date', awards: 'ORDER BY system_no, id' };

/**
 * A user's events. Of a user who is summed (`keepDaySums`): the sums of days. Of others: a row for each event, and the sums of the
 * events that were dropped. For FROM.
 */
export const eventsAndSums = (asked: Asked): string => `(
    (SELECT user_id, metric_no, local_date, attributes, value, 1::bigint AS events, (value > 0)::int::bigint AS positive
      FROM events WHERE ${unlessSummed(asked)} ${BY_INDEX.events})
    UNION ALL
    SELECT user_id, metric_no, local_date, attributes, value, events, positive
      FROM event_days
     WHERE tenant_no = $1 AND user_id = ${asked.user} AND attributes_hash ${asked.byAttributes ? '>' : '='} '' AND ${asked.where})`;

/** The same of awards. */
export const awardsAndSums = (asked: Asked): string => `(
    (SELECT user_id, system_no, local_date, awarded::numeric AS awarded
      FROM awards WHERE ${unlessSummed(asked)} ${BY_INDEX.awards})
    UNION ALL
    SELECT user_id, system_no, local_date, awarded
      FROM award_days WHERE tenant_no = $1 AND user_id = ${asked.user} AND ${asked.where})`;

/** Attributes that are equal have the same text as jsonb. */
const HASH = `CASE WHEN sum.attributes IS NULL THEN ''::bytea ELSE substr(sha256(convert_to(sum.attributes::text, 'UTF8')), 1, 16) END`;

/**
 * Adds events to the sums of their days: to the day's sum of all events, and those with attributes to the sum of the events with the
 * same attributes too. So a read without attributes goes through one row a metric and day, whatever a client sends as attributes.
 * `rows`: stands in FROM, with the columns of `events`. Not idempotent.
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

/** The same of awards. */
export const addAwards = (rows: string): string => `
  INSERT INTO award_days AS known (tenant_no, user_id, system_no, local_date, awarded)
  SELECT tenant_no, user_id, system_no, local_date, sum(awarded)
    FROM ${rows} GROUP BY tenant_no, user_id, system_no, local_date
  ON CONFLICT (tenant_no, user_id, system_no, local_date) DO UPDATE SET awarded = known.awarded + EXCLUDED.awarded`;

/** From which UTC day on (epoch day) single events and awards are kept; null: all are. */
export async function detailsFromDay(client: Pool | PoolClient): Promise<number | null> {
  const { rows } = await client.query<{ day: number | null }>(
    'SELECT max(end_day) AS day FROM event_partitions WHERE is_dropped',
  );
  return rows[0]!.day;
}

/** Whether an event with an ID (32 hex digits or a UUID) would be older than those that are kept. */
export async function isDropped(client: Pool | PoolClient, id: string): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM event_partitions WHERE is_dropped AND $1::uuid < end_id LIMIT 1', [
    id,
  ]);
  return rows.length > 0;
}

/** The same as `YYYY-MM-DD`. */
export async function detailsFrom(client: Pool | PoolClient): Promise<string | null> {
  const day = await detailsFromDay(client);
  return day === null ? null : dateOf(day);
}
