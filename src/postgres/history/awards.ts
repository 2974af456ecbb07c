import type { Pool } from 'pg';

interface StoredAward {
  id: string;
  triggerNo: number;
  awarded: number;
  /** The system's total after this award. */
  total: number;
  boostNos: number[];
  at: Date;
}

/** A user's last `limit` awards in a points system, newest first. One index range per partition; prepared like `userMetricDays`. */
export async function latestAwards(
  pool: Pool,
  { tenantNo, userId, systemNo, limit }: { tenantNo: number; userId: string; systemNo: number; limit: number },
): Promise<StoredAward[]> {
  const text = `
     SELECT id, trigger_no AS "triggerNo", awarded, total, coalesce(boost_nos, '{}') AS "boostNos", at
       FROM awards
      WHERE tenant_no = $1 AND user_id = $2 AND system_no = $3
      ORDER BY id DESC
      LIMIT $4`;
  const values = [tenantNo, userId, systemNo, limit];
  const { rows } = await pool.query<StoredAward>({ name: 'latest_awards', text, values });
  return rows;
}

/** Totals of users who have all the attributes, ascending, with the number of users. No points count as 0. */
export async function filteredPointsTotals(
  pool: Pool,
  { tenantNo, systemNo, attributes }: { tenantNo: number; systemNo: number; attributes: Record<number, string> },
): Promise<{ total: number; users: number }[]> {
  const { rows } = await pool.query<{ total: string; users: string }>(
    `SELECT coalesce(points->>$2::text, '0')::bigint AS total, count(*) AS users
       FROM users
      WHERE tenant_no = $1 AND attributes @> $3::jsonb
      GROUP BY 1
      ORDER BY 1`,
    [tenantNo, String(systemNo), JSON.stringify(attributes)],
  );
  return rows.map(({ total, users }) => ({ total: Number(total), users: Number(users) }));
}
