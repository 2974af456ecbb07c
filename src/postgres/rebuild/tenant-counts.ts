import type { Pool } from 'pg';

/** How many users a tenant has. */
export async function countUsers(pool: Pool, tenantNo: number): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('SELECT count(*) AS n FROM users WHERE tenant_no = $1', [tenantNo]);
  return rows[0]?.n ?? 0;
}

/** How many users have completed an achievement. */
export async function countCompletions(pool: Pool, tenantNo: number, achievementNo: number): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    'SELECT count(*) AS n FROM completions WHERE tenant_no = $1 AND achievement_no = $2',
    [tenantNo, achievementNo],
  );
  return rows[0]?.n ?? 0;
}
