import type { Pool, PoolClient } from 'pg';
import { dateOf } from '../../domain/periods.ts';

/** Whether sums of `event_days` or `award_days` stand for what is gone. */
const COUNTS = 'part IN (SELECT first_day FROM event_partitions WHERE is_dropped)';

const since = (firstId: string | undefined): string => (firstId === undefined ? '' : ` AND id >= ${firstId}::uuid`);

/**
 * Rows for which a condition on `tenant_no`, `user_id`, `metric_no`, `local_date` and `attributes` holds: an event each, or what is
 * left of the events of a user, metric, local day and attributes. For FROM.
 * @param firstId the parameter with the first ID to look at (`readSinceDay`); left out: all are
 */
export const eventsAndSums = (where: string, firstId?: string): string => `(
    SELECT user_id, metric_no, local_date, attributes, value, 1::bigint AS events, (value > 0)::int::bigint AS positive FROM events WHERE ${where}${since(firstId)}
    UNION ALL
    SELECT user_id, metric_no, local_date, attributes, value, events, positive FROM event_days WHERE ${COUNTS} AND ${where})`;

/** The same of awards: conditions on `tenant_no`, `user_id`, `system_no` and `local_date`. */
export const awardsAndSums = (where: string, firstId?: string): string => `(
    SELECT user_id, system_no, local_date, awarded::numeric AS awarded FROM awards WHERE ${where}${since(firstId)}
    UNION ALL
    SELECT user_id, system_no, local_date, awarded FROM award_days WHERE ${COUNTS} AND ${where})`;

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
