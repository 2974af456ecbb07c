import type { Pool, PoolClient } from 'pg';
import { latestJobs, replaceJobs, type Job } from '../jobs.ts';

export type BoardFill = Job<
  { boardNo: number },
  {
    /** First day of the first run in Redis; `null` if all runs are past. Set from the first slice on. */
    openRunDay?: number | null;
    /** Number of users with a score from history. */
    scored?: number;
  }
> & { tenantNo: number };

/** Requests that leaderboards be filled, from the beginning if they are being filled already; in the edit's transaction. */
export async function requestFills(
  client: PoolClient,
  tenantNo: number,
  boards: readonly { id: string; no: number }[],
): Promise<void> {
  const jobs = boards.map(({ id, no }) => ({ subjectId: id, parameters: { boardNo: no } }));
  await replaceJobs(client, { kind: 'leaderboard_filling', tenantNo, jobs });
  await deletePastScores(
    client,
    tenantNo,
    boards.map(({ no }) => no),
  );
}

export async function deletePastScores(
  client: PoolClient,
  tenantNo: number,
  boardNos: readonly number[],
): Promise<void> {
  await client.query('DELETE FROM board_past_scores WHERE tenant_no = $1 AND board_no = ANY ($2)', [
    tenantNo,
    boardNos,
  ]);
}

/** First day of a leaderboard's first run in Redis; `null` if all runs are past. */
export async function firstOpenRun(
  client: PoolClient,
  { tenantNo, parameters: { boardNo } }: BoardFill,
): Promise<number | null> {
  const { rows } = await client.query<{ openRunDay: number | null }>(
    'SELECT next_run_day AS "openRunDay" FROM board_progress WHERE tenant_no = $1 AND board_no = $2',
    [tenantNo, boardNo],
  );
  return rows[0]?.openRunDay ?? null;
}

export const listFills = (pool: Pool, tenantNo: number): Promise<BoardFill[]> =>
  latestJobs(pool, { kind: 'leaderboard_filling', tenantNo });
