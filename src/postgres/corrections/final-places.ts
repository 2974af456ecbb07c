/** Users' places in final runs, for corrections that no longer change them. */
import type { Pool } from 'pg';
import type { RankRule } from '../boards/rank-rewards.ts';
import { storableText } from '../storable-json.ts';

/** What decides the order of a final group. */
export interface FinalScore {
  score: number;
  /** When the score was reached, on boards on which this ranks equal scores. */
  reached: number | null;
  /** The rank number of the secondary score (`src/domain/secondary-score.ts`); 0 for none. */
  secondary: number;
}

/** A user's place in a group of a final run, and what it earned. `score`: as it is shown. */
export interface FinalPlace extends FinalScore {
  boardNo: number;
  runDay: number;
  lastDay: number;
  groupId: number;
  rank: number;
  /** Whether the rank was within the board's maximum of participants. */
  participates: boolean;
  participants: number;
  rules: RankRule[];
  points: Record<string, number>;
  achievements: number[];
}

/** Places of a user in some final runs. */
export async function finalPlaces(
  pool: Pool,
  tenantNo: number,
  userId: string,
  runs: readonly { boardNo: number; runDay: number }[],
): Promise<FinalPlace[]> {
  if (runs.length === 0) return [];
  const { rows } = await pool.query<FinalPlace>(
    `SELECT run.board_no AS "boardNo", run.run_day AS "runDay", run.last_day AS "lastDay", own.group_id AS "groupId", own.rank,
            own.score, own.reached::float8, coalesce(own.secondary, 0)::float8 AS secondary,
            own.place < grp.participants AS participates, grp.participants,
            coalesce(owed.rules, '[]') AS rules, coalesce(reward.points, '{}') AS points,
            coalesce(reward.achievements, '{}') AS achievements
       FROM unnest($3::int[], $4::int[]) AS named (board_no, run_day)
       JOIN board_runs AS run ON run.tenant_no = $1 AND run.board_no = named.board_no AND run.run_day = named.run_day
        AND run.is_final
       JOIN board_run_groups AS grp ON grp.run_id = run.id
       JOIN board_finals AS own ON own.tenant_no = $1 AND own.user_id = $2 AND own.group_id = grp.id
       LEFT JOIN run_rewards AS owed ON owed.run_id = run.id
       LEFT JOIN rank_rewards AS reward ON reward.tenant_no = $1 AND reward.user_id = $2
        AND reward.board_no = run.board_no AND reward.run_day = run.run_day
      ORDER BY run.final_at, run.board_no`,
    [tenantNo, storableText(userId), runs.map(({ boardNo }) => boardNo), runs.map(({ runDay }) => runDay)],
  );
  return rows;
}

/** How many other users of a final group are better than a score, of which greater is better. `sign`: -1 if lower scores are shown first. Reads the group. */
export async function countBetter(
  pool: Pool,
  groupId: number,
  { userId, sign, score, reached, secondary }: FinalScore & { userId: string; sign: number },
): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM board_finals
      WHERE group_id = $1 AND user_id <> $2
        AND (score * $3::int > $4 OR (score * $3 = $4 AND (coalesce(secondary, 0) > $5 OR (coalesce(secondary, 0) = $5 AND reached < $6))))`,
    [groupId, storableText(userId), sign, score, secondary, reached],
  );
  return rows[0]!.n;
}

/** Whether an event (32 hex digits) was reversed at a time (epoch ms). */
export async function wasReversed(pool: Pool, root: string, atMs: number): Promise<boolean> {
  // The rows of an event take turns: reversed, restored, reversed.
  const { rows } = await pool.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM reversals WHERE root_id = $1 AND at < to_timestamp($2 / 1000.0)',
    [root, atMs],
  );
  return rows[0]!.n % 2 === 1;
}
