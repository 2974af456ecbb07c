import type { Pool } from 'pg';

/** Whether a streak change by a call (ID: 32 hex digits) within the last hour is stored. */
export async function isStreakCallStored(pool: Pool, id: string): Promise<boolean> {
  const { rows } = await pool.query<{ stored: boolean }>(
    'SELECT EXISTS (SELECT FROM streak_calls WHERE id = $1) AS stored',
    [id],
  );
  return rows[0]!.stored;
}
