import type { Pool } from 'pg';

/** Whether an achievement that was switched on is still to be backdated, or a leaderboard to be filled from history. */
export async function switchedOnWaits(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ waits: boolean }>(
    `SELECT EXISTS (SELECT FROM backdatings WHERE status <> 'done')
         OR EXISTS (SELECT FROM board_fills WHERE status <> 'done') AS waits`,
  );
  return rows[0]!.waits;
}
