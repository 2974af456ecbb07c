import type { Pool } from 'pg';

/** The runs of a tenant's boards whose sorted sets have left Redis: board number → first days. */
export async function clearedRuns(pool: Pool, tenantNo: number): Promise<Map<number, Set<number>>> {
  const { rows } = await pool.query<{ boardNo: number; runDays: number[] }>(
    `SELECT board_no AS "boardNo", array_agg(run_day) AS "runDays" FROM board_runs
      WHERE tenant_no = $1 AND is_cleared GROUP BY board_no`,
    [tenantNo],
  );
  return new Map(rows.map(({ boardNo, runDays }) => [boardNo, new Set(runDays)]));
}
