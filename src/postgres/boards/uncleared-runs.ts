import type { Pool } from 'pg';

/** A tenant's runs that ended or are being copied, and whose sorted sets may still be in Redis. */
export async function unclearedRuns(pool: Pool, tenantNo: number): Promise<{ boardNo: number; runDay: number }[]> {
  const { rows } = await pool.query<{ boardNo: number; runDay: number }>(
    `SELECT board_no AS "boardNo", run_day AS "runDay" FROM board_runs WHERE tenant_no = $1 AND NOT is_cleared`,
    [tenantNo],
  );
  return rows;
}
