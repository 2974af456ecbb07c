import type { Pool } from 'pg';

/** Whether an activated achievement still waits for backdating, or a leaderboard for being filled from history. */
export async function switchedOnWaits(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ waits: boolean }>(
    `SELECT EXISTS (SELECT FROM jobs WHERE kind IN ('backdating', 'leaderboard_filling') AND status IN ('waiting', 'running'))
         AS waits`,
  );
  return rows[0]!.waits;
}
