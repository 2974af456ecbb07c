import type { Pool } from 'pg';
import { storableText } from '../storable-json.ts';

/** Identifies a run of a leaderboard. */
interface RunNamed {
  tenantNo: number;
  boardNo: number;
  runDay: number;
}

export interface FinalMember {
  userId: string;
  rank: number;
  score: number;
}

const FINAL_RUN = 'run.tenant_no = $1 AND run.board_no = $2 AND run.run_day = $3 AND run.is_final';

/** A group of a final run; `id` is `null` if the group is empty. `null` if the run is not final. */
export async function finalGroup(
  pool: Pool,
  { tenantNo, boardNo, runDay }: RunNamed,
  name: string,
): Promise<{ id: number | null; participants: number } | null> {
  const { rows } = await pool.query<{ id: number | null; participants: number }>(
    `SELECT grp.id, coalesce(grp.participants, 0) AS participants
       FROM board_runs AS run LEFT JOIN board_run_groups AS grp
              ON grp.run_id = run.id AND text_digest(grp.name) = text_digest($4)
      WHERE ${FINAL_RUN}`,
    [tenantNo, boardNo, runDay, storableText(name)],
  );
  return rows[0] ?? null;
}

/** Groups that had members when the run became final; none if it is not final. */
export async function finalGroups(pool: Pool, { tenantNo, boardNo, runDay }: RunNamed): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT grp.name FROM board_runs AS run JOIN board_run_groups AS grp ON grp.run_id = run.id
      WHERE ${FINAL_RUN} ORDER BY grp.name`,
    [tenantNo, boardNo, runDay],
  );
  return rows.map(({ name }) => name);
}

/** Members of a group from a rank on, best first. */
export async function finalPage(
  pool: Pool,
  { groupId, from, count }: { groupId: number; from: number; count: number },
): Promise<FinalMember[]> {
  const { rows } = await pool.query<FinalMember>(
    `SELECT user_id AS "userId", rank, score FROM board_finals
      WHERE group_id = $1 AND place >= $2 AND place < $3 ORDER BY place`,
    [groupId, from, from + count],
  );
  return rows;
}

/** A user's final rank in a group. */
export async function finalMember(
  pool: Pool,
  { tenantNo, groupId }: { tenantNo: number; groupId: number },
  userId: string,
): Promise<(FinalMember & { place: number }) | null> {
  const { rows } = await pool.query<FinalMember & { place: number }>(
    `SELECT user_id AS "userId", place, rank, score FROM board_finals WHERE tenant_no = $1 AND group_id = $2 AND user_id = $3`,
    [tenantNo, groupId, storableText(userId)],
  );
  return rows[0] ?? null;
}

/** A user's result in a final run. */
export interface FinalPlace {
  boardNo: number;
  runDay: number;
  lastDay: number;
  finalMs: number;
  group: string;
  rank: number;
  score: number;
  /** Whether the rank was within the leaderboard's maximum of participants. */
  participates: boolean;
}

/** A user's results in the final runs of a tenant's leaderboards, or in one run. */
export async function finalPlaces(
  pool: Pool,
  tenantNo: number,
  userId: string,
  run: { boardNo: number; runDay: number } | null,
): Promise<FinalPlace[]> {
  const { rows } = await pool.query<FinalPlace>(
    `SELECT run.board_no AS "boardNo", run.run_day AS "runDay", run.last_day AS "lastDay",
            (extract(epoch FROM run.final_at) * 1000)::float8 AS "finalMs",
            grp.name AS group, member.rank, member.score, member.place < grp.participants AS participates
       FROM board_finals AS member
       JOIN board_run_groups AS grp ON grp.id = member.group_id
       JOIN board_runs AS run ON run.id = grp.run_id
      WHERE member.tenant_no = $1 AND member.user_id = $2 AND run.is_final
        AND ($3::integer IS NULL OR (run.board_no = $3 AND run.run_day = $4))`,
    [tenantNo, storableText(userId), run?.boardNo ?? null, run?.runDay ?? null],
  );
  return rows;
}

/** Those runs that are final, with their last day and when they became final. */
export async function finalOf(
  pool: Pool,
  tenantNo: number,
  runs: readonly { boardNo: number; runDay: number }[],
): Promise<{ boardNo: number; runDay: number; lastDay: number; finalMs: number }[]> {
  if (runs.length === 0) return [];
  const { rows } = await pool.query<{ boardNo: number; runDay: number; lastDay: number; finalMs: number }>(
    `SELECT run.board_no AS "boardNo", run.run_day AS "runDay", run.last_day AS "lastDay",
            (extract(epoch FROM run.final_at) * 1000)::float8 AS "finalMs"
       FROM unnest($2::integer[], $3::integer[]) AS asked (board_no, run_day)
       JOIN board_runs AS run ON run.tenant_no = $1 AND run.board_no = asked.board_no AND run.run_day = asked.run_day
      WHERE run.is_final`,
    [tenantNo, runs.map(({ boardNo }) => boardNo), runs.map(({ runDay }) => runDay)],
  );
  return rows;
}
