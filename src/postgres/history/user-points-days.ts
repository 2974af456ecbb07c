import type { Pool } from 'pg';
import { awardsAndSums } from '../partitions/dropped-days.ts';

/** Parameters: tenant number, user ID, last epoch day. */
export const USER_POINTS_DAYS = `
  SELECT system_no AS "systemNo", local_date - DATE '1970-01-01' AS day, sum(awarded)::text AS change
  FROM ${awardsAndSums({ user: '$2', where: "local_date <= DATE '1970-01-01' + $3::int" })} AS kept
  GROUP BY system_no, local_date
  ORDER BY system_no, local_date`;

/** A user's awards in one points system on one local day. */
export interface PointsDay {
  systemNo: number;
  /** Epoch day. */
  day: number;
  /** Sum of the awards, as decimal text. */
  change: string;
}

/** A user's awards up to a local day, by points system and day, in this order. Prepared like `userMetricDays`. */
export async function userPointsDays(
  pool: Pool,
  { tenantNo, userId, toDay }: { tenantNo: number; userId: string; toDay: number },
): Promise<PointsDay[]> {
  const statement = { name: 'user_points_days', text: USER_POINTS_DAYS, values: [tenantNo, userId, toDay] };
  return (await pool.query<PointsDay>(statement)).rows;
}
