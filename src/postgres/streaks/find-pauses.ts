import type { Pool } from 'pg';

/** Those of some pauses that exist in a tenant and are not deleted. Days are epoch days. */
export async function findPauses(
  pool: Pool,
  tenantNo: number,
  ids: readonly string[],
): Promise<{ id: string; userId: string; from: number; to: number }[]> {
  const { rows } = await pool.query<{ id: string; userId: string; from: number; to: number }>(
    `SELECT id, user_id AS "userId", from_day AS "from", to_day AS "to" FROM streak_pauses
      WHERE tenant_no = $1 AND id = ANY ($2::uuid[]) AND deleted IS NULL`,
    [tenantNo, ids],
  );
  return rows;
}
