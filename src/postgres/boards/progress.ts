import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { type Job, latestJobs, replaceJobs } from '../jobs.ts';
import { transaction } from '../transaction.ts';

export interface BoardProgress {
  tenantNo: number;
  board: Leaderboard;
  /** First day of the oldest run that is not final; `null` if all are. */
  nextRunDay: number | null;
  /** The first day without a snapshot. */
  nextSnapshotDay: number;
  /** Whether it is still being filled from history. */
  isFilling: boolean;
  /** Whether `time` triggers can change its scores. Streak boards change at midnight in any case. */
  isPaidForTime: boolean;
  /** Whether active triggers or achievements reward its final ranks. */
  isRewarded: boolean;
}

const SELECT = `
  SELECT resource.tenant_no AS "tenantNo", resource.doc || jsonb_build_object('id', resource.id, 'no', resource.no) AS board,
         progress.next_run_day AS "nextRunDay", progress.next_snapshot_day AS "nextSnapshotDay",
         EXISTS (SELECT FROM jobs
                  WHERE kind = 'leaderboard_filling' AND subject_id = resource.id AND jobs.status IN ('waiting', 'running'))
           AS "isFilling",
         resource.doc ->> 'rankBy' = 'points' AND EXISTS (
           SELECT FROM catalog_resources
            WHERE tenant_no = resource.tenant_no AND kind = 'points_trigger' AND deleted IS NULL
              AND doc ->> 'type' = 'time' AND doc ->> 'status' = 'active') AS "isPaidForTime",
         EXISTS (
           SELECT FROM catalog_resources AS rule
            WHERE rule.tenant_no = resource.tenant_no AND rule.kind IN ('points_trigger', 'achievement')
              AND rule.deleted IS NULL AND rule.doc ->> 'leaderboardId' = resource.id::text
              AND rule.doc ->> 'status' = 'active') AS "isRewarded"
    FROM catalog_resources AS resource
    JOIN tenants ON tenants.no = resource.tenant_no AND tenants.status = 'active'
    JOIN board_progress AS progress ON progress.tenant_no = resource.tenant_no AND progress.board_no = resource.no
   WHERE resource.kind = 'leaderboard' AND resource.deleted IS NULL AND resource.doc ->> 'status' <> 'inactive'`;

/** The active leaderboards of all tenants or of one; oldest first. */
export async function boardsInProgress(pool: Pool, tenantNo: number | null = null): Promise<BoardProgress[]> {
  const { rows } = await pool.query<BoardProgress>({
    name: 'boards_in_progress',
    text: `${SELECT} AND resource.tenant_no = coalesce($1, resource.tenant_no) ORDER BY resource.created, resource.no`,
    values: [tenantNo],
  });
  return rows;
}

/** A leaderboard; `null` if it no longer exists. */
export async function boardOf(
  client: PoolClient,
  { tenantNo, boardNo }: { tenantNo: number; boardNo: number },
): Promise<Leaderboard | null> {
  const { rows } = await client.query<{ board: Leaderboard }>(
    `SELECT doc || jsonb_build_object('id', id, 'no', no) AS board FROM catalog_resources
      WHERE tenant_no = $1 AND no = $2 AND kind = 'leaderboard' AND deleted IS NULL`,
    [tenantNo, boardNo],
  );
  return rows[0]?.board ?? null;
}

interface Tracked {
  no: number;
  nextRunDay: number | null;
  nextSnapshotDay: number;
}

const TRACKED = columns<Tracked>({ no: ['int', 'board_no'], nextRunDay: 'int', nextSnapshotDay: 'int' });

/** Starts to follow activated leaderboards, in the edit's transaction. */
export async function trackBoards(client: PoolClient, tenantNo: number, boards: readonly Tracked[]): Promise<void> {
  await client.query(
    `${TRACKED.insertInto('board_progress', ['tenant_no'])}
     ON CONFLICT (tenant_no, board_no) DO UPDATE
       SET next_run_day = EXCLUDED.next_run_day,
           next_snapshot_day = greatest(board_progress.next_snapshot_day, EXCLUDED.next_snapshot_day)`,
    [tenantNo, ...TRACKED.arrays(boards)],
  );
}

/** Locks a leaderboard's progress for the transaction. False if it changed since the caller read it, or another process holds it. */
export async function lockProgress(
  client: PoolClient,
  { tenantNo, boardNo, ...seen }: { tenantNo: number; boardNo: number; runDay?: number; snapshotDay?: number },
): Promise<boolean> {
  const { rows } = await client.query<{ runDay: number | null; snapshotDay: number }>(
    `SELECT next_run_day AS "runDay", next_snapshot_day AS "snapshotDay"
       FROM board_progress WHERE tenant_no = $1 AND board_no = $2 FOR UPDATE SKIP LOCKED`,
    [tenantNo, boardNo],
  );
  const [row] = rows;
  if (row === undefined) return false;
  return (
    (seen.runDay === undefined || seen.runDay === row.runDay) &&
    (seen.snapshotDay === undefined || seen.snapshotDay === row.snapshotDay)
  );
}

/** Advances a locked progress: to the run after a final one (`null` if there is none), or to the day after a snapshot. */
export async function moveProgress(
  client: PoolClient,
  { tenantNo, boardNo, ...to }: { tenantNo: number; boardNo: number; runDay?: number | null; snapshotDay?: number },
): Promise<void> {
  await client.query(
    `UPDATE board_progress
        SET next_run_day = CASE WHEN $3 THEN $4::integer ELSE next_run_day END,
            next_snapshot_day = greatest(next_snapshot_day, coalesce($5::integer, next_snapshot_day))
      WHERE tenant_no = $1 AND board_no = $2`,
    [tenantNo, boardNo, to.runDay !== undefined, to.runDay ?? null, to.snapshotDay ?? null],
  );
}

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
  await replaceJobs(client, 'leaderboard_filling', tenantNo, jobs);
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
