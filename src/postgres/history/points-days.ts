import type { Pool } from 'pg';
import type { DayRows } from './day-rows.ts';
import { awardsAndSums } from '../partitions/dropped-days.ts';
import { mayBeEarlier, readSinceDay } from '../partitions/since-day.ts';

/** Parameters: tenant number, user ID, points system number, first and last epoch day, first ID (`readSinceDay`). */
export const POINTS_DAYS = `
  WITH days AS MATERIALIZED (
    SELECT local_date - DATE '1970-01-01' AS day, sum(awarded) AS change
    FROM ${awardsAndSums("tenant_no = $1 AND user_id = $2 AND system_no = $3 AND local_date >= DATE '1970-01-01' + $4::int", '$6')} AS kept
    GROUP BY local_date
  )
  SELECT
    (SELECT state FROM users WHERE tenant_no = $1 AND id = $2) AS state,
    coalesce((SELECT sum(change) FROM days WHERE day > $5::int), 0)::text AS later,
    ARRAY(SELECT day FROM days WHERE day <= $5::int ORDER BY day) AS days,
    ARRAY(SELECT change::text FROM days WHERE day <= $5::int ORDER BY day) AS changes,
    ${mayBeEarlier('$4::int')} AS "mayBeEarlier"`;

/** What a user's awards in a points system added on each of some local days; else as `metricDays`. */
export async function pointsDays(
  pool: Pool,
  {
    tenantNo,
    userId,
    systemNo,
    fromDay,
    toDay,
  }: { tenantNo: number; userId: string; systemNo: number; fromDay: number; toDay: number },
): Promise<DayRows> {
  const { mayBeEarlier: _, ...found } = await readSinceDay(fromDay, {
    rows: async (firstId) => {
      const values = [tenantNo, userId, systemNo, fromDay, toDay, firstId];
      return (await pool.query<DayRows & { mayBeEarlier: boolean }>(POINTS_DAYS, values)).rows[0]!;
    },
    missed: (row) => row.mayBeEarlier,
  });
  return found;
}
