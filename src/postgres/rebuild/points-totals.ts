import type { Pool } from 'pg';

/** How many users of a tenant have which total (above 0) in a points system. Reads all of the tenant's users. */
export async function pointsTotals(
  pool: Pool,
  { tenantNo, systemNo }: { tenantNo: number; systemNo: number },
): Promise<{ total: number; users: number }[]> {
  const { rows } = await pool.query<{ total: string; users: string }>(
    `SELECT (points->>$2::text)::bigint AS total, count(*) AS users
       FROM users
      WHERE tenant_no = $1 AND (points->>$2::text)::bigint > 0
      GROUP BY 1`,
    [tenantNo, String(systemNo)],
  );
  return rows.map(({ total, users }) => ({ total: Number(total), users: Number(users) }));
}
