import type { Pool } from 'pg';
import type { DayRows } from './day-rows.ts';
import { eventsAndSums } from '../partitions/dropped-days.ts';
import { mayBeEarlier, readSinceDay } from '../partitions/since-day.ts';

/** Parameters: tenant number, user ID, metric number, first and last epoch day, first ID (`readSinceDay`). */
export const METRIC_DAYS = `
  WITH days AS MATERIALIZED (
    SELECT local_date - DATE '1970-01-01' AS day, sum(value) AS change
    FROM ${eventsAndSums("tenant_no = $1 AND user_id = $2 AND metric_no = $3 AND local_date >= DATE '1970-01-01' + $4::int", '$6')} AS kept
    GROUP BY local_date
  )
  SELECT
    (SELECT state FROM users WHERE tenant_no = $1 AND id = $2) AS state,
    coalesce((SELECT sum(change) FROM days WHERE day > $5::int), 0)::text AS later,
    ARRAY(SELECT day FROM days WHERE day <= $5::int ORDER BY day) AS days,
    ARRAY(SELECT change::text FROM days WHERE day <= $5::int ORDER BY day) AS changes,
    ${mayBeEarlier('$4::int')} AS "mayBeEarlier"`;

/**
 * What a user's events of a metric added on each of some local days, what came later, and the user's state: all as of
 * one moment, so that the totals follow without reading any event before the first day.
 */
export async function metricDays(
  pool: Pool,
  {
    tenantNo,
    userId,
    metricNo,
    fromDay,
    toDay,
  }: { tenantNo: number; userId: string; metricNo: number; fromDay: number; toDay: number },
): Promise<DayRows> {
  const { mayBeEarlier: _, ...found } = await readSinceDay(fromDay, {
    rows: async (firstId) => {
      const values = [tenantNo, userId, metricNo, fromDay, toDay, firstId];
      return (await pool.query<DayRows & { mayBeEarlier: boolean }>(METRIC_DAYS, values)).rows[0]!;
    },
    missed: (row) => row.mayBeEarlier,
  });
  return found;
}
