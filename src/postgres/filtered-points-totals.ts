import type { Pool } from 'pg';

/**
 * Points totals of the users who have all the attributes (by number), ascending, with the number of users for each total. Users without points count
 * as 0. The GIN index on `attributes` serves the filter.
 */
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
