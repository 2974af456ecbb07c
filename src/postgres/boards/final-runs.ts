import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import { storableText } from '../storable-json.ts';
import type { BoardRun } from '../../domain/runs.ts';

export interface EndedRun extends BoardRun {
  lastDay: number;
  finalMs: number;
}

interface CopiedGroup {
  id: number;
  members: number;
  participants: number;
  isDone: boolean;
}

export async function beginRun(pool: Pool, run: EndedRun): Promise<number> {
  const values = [run.tenantNo, run.boardNo, run.runDay, run.lastDay, new Date(run.finalMs)];
  await pool.query(
    `INSERT INTO board_runs (tenant_no, board_no, run_day, last_day, final_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (tenant_no, board_no, run_day) DO NOTHING`,
    values,
  );
  const { rows } = await pool.query<{ id: number }>(
    'SELECT id FROM board_runs WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3',
    values.slice(0, 3),
  );
  return rows[0]!.id;
}

const EMPTY_RUN = columns<EndedRun>({ runDay: 'int', lastDay: 'int', finalMs: ['time', 'final_at'] });

/** Adds a leaderboard's empty runs. They are final at once and have no data in Redis. */
export async function addEmptyRuns(client: PoolClient, runs: readonly EndedRun[]): Promise<void> {
  const [first] = runs;
  if (first === undefined) return;
  await client.query(
    `${EMPTY_RUN.insertInto('board_runs', ['tenant_no', 'board_no', 'is_final', 'is_cleared'])}
     ON CONFLICT (tenant_no, board_no, run_day) DO UPDATE SET is_final = true`,
    [first.tenantNo, first.boardNo, true, true, ...EMPTY_RUN.arrays(runs)],
  );
}

/** A run's group, by name. Creates it if necessary and locks it for the transaction. */
export async function lockGroup(client: PoolClient, runId: number, name: string): Promise<CopiedGroup> {
  const values = [runId, storableText(name)];
  await client.query(
    'INSERT INTO board_run_groups (run_id, name) VALUES ($1, $2) ON CONFLICT (run_id, text_digest(name)) DO NOTHING',
    values,
  );
  const { rows } = await client.query<CopiedGroup>(
    `SELECT id, members, participants, is_done AS "isDone"
       FROM board_run_groups WHERE run_id = $1 AND text_digest(name) = text_digest($2) FOR UPDATE`,
    values,
  );
  return rows[0]!;
}

export async function lastCopied(
  client: PoolClient,
  { id, members }: CopiedGroup,
): Promise<{ rank: number; score: number } | null> {
  const { rows } = await client.query<{ rank: number; score: number }>(
    'SELECT rank, score FROM board_finals WHERE group_id = $1 AND place = $2',
    [id, members - 1],
  );
  return rows[0] ?? null;
}

const MEMBER = columns<NewFinalMember & { groupId: number; place: number; tenantNo: number }>({
  groupId: 'int',
  place: 'int',
  tenantNo: 'int',
  userId: 'text',
  rank: 'int',
  score: 'float8',
  reached: 'bigint',
  secondary: 'bigint',
  metadata: 'text',
});

export async function addMembers(
  client: PoolClient,
  tenantNo: number,
  group: CopiedGroup,
  { members, participants, isDone }: { members: readonly NewFinalMember[]; participants: number; isDone: boolean },
): Promise<void> {
  const rows = members.map((member, index) => ({
    ...member,
    groupId: group.id,
    place: group.members + index,
    tenantNo,
  }));
  await MEMBER.copyInto(client, 'board_finals', rows);
  await client.query(
    `UPDATE board_run_groups SET members = members + $2, participants = participants + $3, is_done = $4 WHERE id = $1`,
    [group.id, members.length, participants, isDone],
  );
}

export async function dropMembers(client: PoolClient, { id }: CopiedGroup): Promise<void> {
  await client.query('DELETE FROM board_finals WHERE group_id = $1', [id]);
  await client.query('UPDATE board_run_groups SET members = 0, participants = 0, is_done = false WHERE id = $1', [id]);
}

interface FinalTeam {
  team: string;
  score: number;
  members: number;
}

const TEAM = columns<FinalTeam>({ team: 'text', score: 'float8', members: 'int' });

/** Marks a run as final, with its teams. From now on it is read from Postgres. */
export async function finishRun(client: PoolClient, runId: number, teams: readonly FinalTeam[]): Promise<void> {
  await client.query(TEAM.insertInto('board_final_teams', ['run_id']), [runId, ...TEAM.arrays(teams)]);
  await client.query('UPDATE board_runs SET is_final = true WHERE id = $1', [runId]);
}

/** Final runs whose sorted sets are still in Redis, oldest first. `except`: `<tenant no>:<board no>`. */
export async function runsToClear(
  pool: Pool,
  finalUpToMs: number,
  limit: number,
  except: readonly string[],
): Promise<{ id: number; tenantNo: number; boardNo: number; runDay: number; finalMs: number; groups: string[] }[]> {
  const { rows } = await pool.query({
    name: 'runs_to_clear',
    text: `SELECT id, tenant_no AS "tenantNo", board_no AS "boardNo", run_day AS "runDay",
            (extract(epoch FROM final_at) * 1000)::float8 AS "finalMs",
            ARRAY (SELECT name FROM board_run_groups WHERE run_id = board_runs.id) AS groups
       FROM board_runs
      WHERE is_final AND NOT is_cleared AND final_at <= $1 AND tenant_no || ':' || board_no <> ALL ($3)
      ORDER BY final_at LIMIT $2`,
    values: [new Date(finalUpToMs), limit, except],
  });
  return rows;
}

export async function noteCleared(pool: Pool, runId: number): Promise<void> {
  await pool.query('UPDATE board_runs SET is_cleared = true WHERE id = $1', [runId]);
}

interface NewFinalMember extends Omit<FinalMember, 'metadata'> {
  reached?: number | null;
  /** JSON. */
  metadata?: string | null;
}

interface FinalMember {
  userId: string;
  rank: number;
  score: number;
  /** As of `Member`. */
  secondary?: number | null;
  /** JSON. */
  metadata: string | null;
}

/** The groups of a run. */
export async function groupsOf(pool: Pool, { tenantNo, boardNo, runDay }: BoardRun): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT own.name FROM board_runs AS run JOIN board_run_groups AS own ON own.run_id = run.id
      WHERE run.tenant_no = $1 AND run.board_no = $2 AND run.run_day = $3`,
    [tenantNo, boardNo, runDay],
  );
  return rows.map(({ name }) => name);
}

const FINAL_RUN = 'run.tenant_no = $1 AND run.board_no = $2 AND run.run_day = $3 AND run.is_final';

/** A group of a final run; `id` is `null` if the group is empty. `null` if the run is not final. */
export async function finalGroup(
  pool: Pool,
  { tenantNo, boardNo, runDay }: BoardRun,
  name: string,
): Promise<{ id: number | null; members: number; participants: number } | null> {
  const { rows } = await pool.query<{ id: number | null; members: number; participants: number }>(
    `SELECT grp.id, coalesce(grp.members, 0) AS members, coalesce(grp.participants, 0) AS participants
       FROM board_runs AS run LEFT JOIN board_run_groups AS grp
              ON grp.run_id = run.id AND text_digest(grp.name) = text_digest($4)
      WHERE ${FINAL_RUN}`,
    [tenantNo, boardNo, runDay, storableText(name)],
  );
  return rows[0] ?? null;
}

/** The teams of a final run; `null` if the run is not final. */
export async function finalTeams(pool: Pool, { tenantNo, boardNo, runDay }: BoardRun): Promise<FinalTeam[] | null> {
  const { rows } = await pool.query<FinalTeam | { team: null }>(
    `SELECT team.team, team.score, team.members
       FROM board_runs AS run LEFT JOIN board_final_teams AS team ON team.run_id = run.id
      WHERE ${FINAL_RUN}`,
    [tenantNo, boardNo, runDay],
  );
  return rows.length === 0 ? null : rows.filter((row): row is FinalTeam => row.team !== null);
}

/** Groups that had members when the run became final; none if it is not final. */
export async function finalGroups(pool: Pool, { tenantNo, boardNo, runDay }: BoardRun): Promise<string[]> {
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
    `SELECT user_id AS "userId", rank, score, secondary::float8 AS secondary, metadata FROM board_finals
      WHERE group_id = $1 AND place >= $2 AND place < $3 ORDER BY place`,
    [groupId, from, from + count],
  );
  return rows;
}

export async function finalMember(
  pool: Pool,
  tenantNo: number,
  groupId: number,
  userId: string,
): Promise<(FinalMember & { place: number }) | null> {
  const { rows } = await pool.query<FinalMember & { place: number }>(
    `SELECT user_id AS "userId", place, rank, score, secondary::float8 AS secondary, metadata FROM board_finals
      WHERE tenant_no = $1 AND group_id = $2 AND user_id = $3`,
    [tenantNo, groupId, storableText(userId)],
  );
  return rows[0] ?? null;
}

interface FinalScore {
  userId: string;
  score: number;
  reached: number | null;
  secondary: number | null;
  metadata: string | null;
}

/** The scores of those of some users who have one in a final run; `group`: `null` for any. `null` if the run is not final. */
export async function finalScores(
  pool: Pool,
  { tenantNo, boardNo, runDay }: BoardRun,
  group: string | null,
  userIds: readonly string[],
): Promise<FinalScore[] | null> {
  const { rows } = await pool.query<Omit<FinalScore, 'userId'> & { userId: string | null }>(
    `SELECT member.user_id AS "userId", member.score, member.reached::float8 AS reached, member.secondary::float8 AS secondary,
            member.metadata
       FROM board_runs AS run
       LEFT JOIN (board_run_groups AS grp JOIN board_finals AS member ON member.group_id = grp.id)
              ON grp.run_id = run.id AND ($5::text IS NULL OR text_digest(grp.name) = text_digest($5))
             AND member.tenant_no = $1 AND member.user_id = ANY ($4)
      WHERE ${FINAL_RUN}`,
    [tenantNo, boardNo, runDay, userIds.map(storableText), group === null ? null : storableText(group)],
  );
  return rows.length === 0 ? null : rows.filter((row): row is FinalScore => row.userId !== null);
}

interface FinalPlace {
  boardNo: number;
  runDay: number;
  lastDay: number;
  finalMs: number;
  group: string;
  rank: number;
  score: number;
  /** Whether the rank was within the leaderboard's maximum of participants. */
  participates: boolean;
  secondary: number | null;
  /** JSON. */
  metadata: string | null;
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
            grp.name AS group, member.rank, member.score, member.secondary::float8 AS secondary,
            member.metadata, member.place < grp.participants AS participates
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
