/** Leaderboards' sorted sets in Redis: those that a final run or a deleted leaderboard left behind. */
import type { Pool } from 'pg';
import { transaction } from '../transaction.ts';

/** A leaderboard that was deleted, or that got a new number because its scoring changed. */
export interface DeadBoard {
  tenantNo: number;
  boardNo: number;
}

/** Boards that no longer exist but may have sets in Redis, and the last scan's day (`null`: never). */
export async function straySets(pool: Pool): Promise<{ dead: DeadBoard[]; sweptDay: number | null }> {
  const [{ rows: dead }, { rows: swept }] = await Promise.all([
    pool.query<DeadBoard>({
      name: 'dead_boards',
      text: `SELECT tenant_no AS "tenantNo", board_no AS "boardNo" FROM board_progress AS progress
        WHERE NOT EXISTS (SELECT FROM catalog_resources AS resource
                           WHERE resource.tenant_no = progress.tenant_no AND resource.no = progress.board_no
                             AND resource.kind = 'leaderboard' AND resource.deleted IS NULL)`,
    }),
    pool.query<{ sweptDay: number }>({ name: 'stray_sets', text: 'SELECT swept_day AS "sweptDay" FROM stray_sets' }),
  ]);
  return { dead, sweptDay: swept[0]?.sweptDay ?? null };
}

export async function forgetBoard(pool: Pool, { tenantNo, boardNo }: DeadBoard): Promise<void> {
  await transaction(pool, async (client) => {
    await client.query(
      'UPDATE board_runs SET is_cleared = true WHERE tenant_no = $1 AND board_no = $2 AND NOT is_cleared',
      [tenantNo, boardNo],
    );
    await client.query('DELETE FROM board_progress WHERE tenant_no = $1 AND board_no = $2', [tenantNo, boardNo]);
  });
}

export async function noteSwept(pool: Pool, day: number): Promise<void> {
  await pool.query(
    `INSERT INTO stray_sets (swept_day) VALUES ($1)
     ON CONFLICT (one) DO UPDATE SET swept_day = greatest(stray_sets.swept_day, EXCLUDED.swept_day)`,
    [day],
  );
}

/** A tenant's runs that ended or are being copied, and whose sorted sets may still be in Redis. */
export async function unclearedRuns(pool: Pool, tenantNo: number): Promise<{ boardNo: number; runDay: number }[]> {
  const { rows } = await pool.query<{ boardNo: number; runDay: number }>(
    `SELECT board_no AS "boardNo", run_day AS "runDay" FROM board_runs WHERE tenant_no = $1 AND NOT is_cleared`,
    [tenantNo],
  );
  return rows;
}
