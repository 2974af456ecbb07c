import type { Pool } from 'pg';

/** Whether an achievement that was switched on is still to be backdated, or a leaderboard to be filled from history. */
export async function switchedOnWaits(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ waits: boolean }>(
    `SELECT EXISTS (SELECT FROM jobs WHERE kind IN ('backdating', 'leaderboard_filling') AND status IN ('waiting', 'running'))
         AS waits`,
  );
  return rows[0]!.waits;
}
