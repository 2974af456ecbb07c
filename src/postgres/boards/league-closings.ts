import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import type { Leagues } from '../../domain/leagues.ts';
import { PLANNED_BY_KEYS } from '../shards.ts';
import { storableText } from '../storable-json.ts';
import type { Entrant, LeagueRun } from './leagues.ts';
import type { BoardRun } from '../../domain/runs.ts';

/**
 * Notes that the users of final runs of a leaderboard are to move, in the transaction that declares the runs final. Of a
 * leaderboard without leagues, it forgets the run in which users got cohorts. Users of later runs wait until these are closed.
 */
export async function oweClosings(
  client: PoolClient,
  { tenantNo, boardNo }: Omit<LeagueRun, 'runDay'>,
  runDays: readonly number[],
): Promise<void> {
  await client.query(
    `WITH board AS (
       SELECT doc -> 'leagues' AS leagues FROM catalog_resources
        WHERE tenant_no = $1 AND no = $2 AND kind = 'leaderboard' AND deleted IS NULL
          AND jsonb_typeof(doc -> 'leagues') = 'object'
     ), gone AS (
       DELETE FROM league_boards WHERE tenant_no = $1 AND board_no = $2 AND NOT EXISTS (SELECT FROM board)
     ), opened AS (
       INSERT INTO league_boards (tenant_no, board_no, open_run_day) SELECT $1, $2, $4 FROM board
       ON CONFLICT (tenant_no, board_no) DO NOTHING
     )
     INSERT INTO league_closings (run_id, leagues)
     SELECT run.id, board.leagues FROM board_runs AS run, board
      WHERE run.tenant_no = $1 AND run.board_no = $2 AND run.run_day = ANY ($3)
     ON CONFLICT (run_id) DO NOTHING`,
    [tenantNo, boardNo, runDays, Math.min(...runDays)],
  );
}

/** A final run whose users have not all moved. */
export interface OwedClosing extends LeagueRun {
  runId: number;
  finalMs: number;
}

/** The oldest such run of each leaderboard, oldest first. */
export async function owedClosings(pool: Pool): Promise<OwedClosing[]> {
  const { rows } = await pool.query<OwedClosing>({
    name: 'owed_closings',
    text: `SELECT * FROM (
             SELECT DISTINCT ON (run.tenant_no, run.board_no)
                    run.id AS "runId", run.tenant_no AS "tenantNo", run.board_no AS "boardNo", run.run_day AS "runDay",
                    epoch_ms(run.final_at) AS "finalMs"
               FROM league_closings AS closing
               JOIN board_runs AS run ON run.id = closing.run_id AND run.is_final
               JOIN tenants ON tenants.no = run.tenant_no AND tenants.status = 'active'
              ORDER BY run.tenant_no, run.board_no, run.run_day) AS oldest
            ORDER BY "finalMs", "tenantNo", "boardNo"`,
  });
  return rows;
}

export interface ClosingProgress {
  /** At the end of the run. */
  leagues: Leagues;
  /** `null`: all cohorts are closed. */
  cohort: number | null;
  userId: string;
}

/** Locks the progress of a closing for the transaction; `null` if it is done, or another worker holds it. */
export async function lockClosing(client: PoolClient, runId: number): Promise<ClosingProgress | null> {
  // Without statistics of new rows, Postgres would read whole tables for each batch. A commit need not wait for the disk, on which
  // events wait: what a crash of Postgres loses is done again.
  await client.query(`${PLANNED_BY_KEYS}; SET LOCAL synchronous_commit = off`);
  const { rows } = await client.query<ClosingProgress>(
    `SELECT leagues, cohort, last_user AS "userId" FROM league_closings WHERE run_id = $1 FOR UPDATE SKIP LOCKED`,
    [runId],
  );
  return rows[0] ?? null;
}

export async function moveClosing(
  client: PoolClient,
  runId: number,
  { cohort, userId }: Pick<ClosingProgress, 'cohort' | 'userId'>,
): Promise<void> {
  await client.query('UPDATE league_closings SET cohort = $2, last_user = $3 WHERE run_id = $1', [
    runId,
    cohort,
    storableText(userId),
  ]);
}

export async function endClosing(client: PoolClient, runId: number): Promise<void> {
  await client.query('DELETE FROM league_closings WHERE run_id = $1', [runId]);
}

/** The next cohorts of a run, in the order of their IDs. */
export async function cohortsAfter(
  client: PoolClient,
  { tenantNo, boardNo, runDay }: LeagueRun,
  { after, limit }: { after: number; limit: number },
): Promise<{ id: number; tier: number }[]> {
  const { rows } = await client.query<{ id: number; tier: number }>(
    `SELECT id, tier FROM league_cohorts
      WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3 AND id > $4 ORDER BY id LIMIT $5`,
    [tenantNo, boardNo, runDay, after, limit],
  );
  return rows;
}

export interface CohortMember {
  cohort: number;
  userId: string;
  score: number;
  reached: number | null;
  secondary: number | null;
}

/**
 * SQL: a user's final score in a run. It is looked up user by user, so a batch costs the same however many users the run has.
 * Groups of one run have IDs close to each other.
 */
const finalOf = (user: string): string => `
  SELECT final.score, final.reached::float8 AS reached, final.secondary::float8 AS secondary FROM board_finals AS final
   WHERE final.tenant_no = $1 AND final.user_id = ${user}
     AND final.group_id BETWEEN (SELECT min(id) FROM board_run_groups WHERE run_id = $2)
                            AND (SELECT max(id) FROM board_run_groups WHERE run_id = $2)
     AND (SELECT run_id FROM board_run_groups AS grp WHERE grp.id = final.group_id) = $2
   LIMIT 1`;

/** The members of cohorts who have a final score, with that score. */
export async function scoredMembers(
  client: Pool | PoolClient,
  { tenantNo, runId }: Pick<OwedClosing, 'tenantNo' | 'runId'>,
  cohorts: readonly number[],
): Promise<CohortMember[]> {
  const { rows } = await client.query<CohortMember>(
    `SELECT member.cohort, member.user_id AS "userId", final.score, final.reached, final.secondary
       FROM league_members AS member CROSS JOIN LATERAL (${finalOf('member.user_id')}) AS final
      WHERE member.cohort = ANY ($3)`,
    [tenantNo, runId, cohorts],
  );
  return rows;
}

/** Users above the lowest tier, in the order of their IDs. */
export interface TieredUsers {
  /** The last user that was looked at; `null` if none was left. */
  last: string | null;
  /** Those who have no final score in the run. */
  inactive: { userId: string; tier: number }[];
}

/** Looks at the next users above the lowest tier. */
export async function usersAbove(
  client: PoolClient,
  { tenantNo, boardNo, runId }: OwedClosing,
  after: string,
  limit: number,
): Promise<TieredUsers> {
  const { rows } = await client.query<TieredUsers>(
    `WITH own AS MATERIALIZED (
       SELECT user_id, tier FROM league_tiers
        WHERE tenant_no = $1 AND board_no = $3 AND tier > 0 AND user_id > $4 ORDER BY user_id LIMIT $5
     )
     SELECT (SELECT max(user_id) FROM own) AS last,
            (SELECT coalesce(jsonb_agg(jsonb_build_object('userId', user_id, 'tier', tier)), '[]') FROM own
               LEFT JOIN LATERAL (${finalOf('own.user_id')}) AS final ON true WHERE final.score IS NULL) AS inactive`,
    [tenantNo, runId, boardNo, storableText(after), limit],
  );
  return rows[0]!;
}

/** A user's change of tier. */
export interface Moved {
  userId: string;
  tierBefore: number;
  tier: number;
  /** In the cohort; `null` without a score. */
  rank: number | null;
  /** Whether nobody waits for a report of it. */
  isReported: boolean;
}

const MOVED = columns<Moved>({
  userId: 'text',
  tierBefore: 'smallint',
  tier: 'smallint',
  rank: 'int',
  isReported: 'boolean',
});

/** Notes changes of tiers, once per user and run. */
export async function addMoves(
  client: PoolClient,
  { tenantNo, boardNo, runDay, finalMs }: OwedClosing,
  moved: readonly Moved[],
): Promise<void> {
  if (moved.length === 0) return;
  await client.query(
    `WITH moved AS (
       INSERT INTO league_moves (tenant_no, user_id, board_no, run_day, at, tier_before, tier, rank, is_reported)
       SELECT $1, user_id, $2, $3, to_timestamp($4::float8 / 1000), tier_before, tier, rank, is_reported
         FROM ${MOVED.unnest('moved', 5)}
       ON CONFLICT DO NOTHING RETURNING user_id, tier
     )
     INSERT INTO league_tiers (tenant_no, user_id, board_no, tier) SELECT $1, user_id, $2, tier FROM moved
     ON CONFLICT (tenant_no, user_id, board_no) DO UPDATE SET tier = EXCLUDED.tier`,
    [tenantNo, boardNo, runDay, finalMs, ...MOVED.arrays(moved)],
  );
}

/** The run in which users get cohorts once a run is closed, and the leagues that the leaderboard has now; `null` if there is none. */
export async function followingRun(
  client: PoolClient,
  { tenantNo, boardNo, runDay }: LeagueRun,
): Promise<{ runDay: number | null; leagues: Leagues | null }> {
  const { rows } = await client.query<{ runDay: number | null; leagues: Leagues | null }>(
    `SELECT coalesce(
              (SELECT min(run.run_day) FROM league_closings JOIN board_runs AS run ON run.id = run_id
                WHERE run.tenant_no = $1 AND run.board_no = $2 AND run.run_day > $3),
              (SELECT next_run_day FROM board_progress WHERE tenant_no = $1 AND board_no = $2)) AS "runDay",
            (SELECT doc -> 'leagues' FROM catalog_resources
              WHERE tenant_no = $1 AND no = $2 AND kind = 'leaderboard' AND deleted IS NULL
                AND jsonb_typeof(doc -> 'leagues') = 'object') AS leagues`,
    [tenantNo, boardNo, runDay],
  );
  return rows[0]!;
}

/** The first users of a run who wait for a cohort, in the order of their first scores. */
export async function waitingMembers(
  client: PoolClient,
  { tenantNo, boardNo, runDay }: LeagueRun,
  limit: number,
): Promise<Entrant[]> {
  const { rows } = await client.query<Entrant>(
    `SELECT tenant_no AS "tenantNo", board_no AS "boardNo", run_day AS "runDay", user_id AS "userId", shard,
            group_name AS "group"
       FROM league_members WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3 AND cohort IS NULL
      ORDER BY no LIMIT $4`,
    [tenantNo, boardNo, runDay, limit],
  );
  return rows;
}

/** Lets users of a run get cohorts at once. Waits for transactions that found another run open. */
export async function openRun(
  client: PoolClient,
  { tenantNo, boardNo, runDay }: Omit<LeagueRun, 'runDay'> & { runDay: number | null },
): Promise<void> {
  await client.query(
    `INSERT INTO league_boards (tenant_no, board_no, open_run_day) VALUES ($1, $2, $3)
     ON CONFLICT (tenant_no, board_no) DO UPDATE SET open_run_day = EXCLUDED.open_run_day`,
    [tenantNo, boardNo, runDay],
  );
}

/** A change of tier that may have to be reported. */
export interface UnreportedMove extends BoardRun {
  no: number;
  userId: string;
  atMs: number;
  tierBefore: number;
  tier: number;
  rank: number | null;
}

/** When the oldest unreported change of a tenant was; only of active tenants, except some. */
export async function unreportedTenants(
  pool: Pool,
  except: readonly number[],
): Promise<{ tenantNo: number; version: number; atMs: number }[]> {
  const { rows } = await pool.query<{ tenantNo: number; version: number; atMs: number }>({
    name: 'unreported_moves',
    text: `SELECT tenants.no AS "tenantNo", tenants.catalog_version AS version, epoch_ms(first.at) AS "atMs"
             FROM (SELECT DISTINCT tenant_no FROM league_moves WHERE NOT is_reported) AS owing
             JOIN tenants ON tenants.no = owing.tenant_no AND tenants.status = 'active' AND tenants.no <> ALL ($1)
             CROSS JOIN LATERAL (SELECT at FROM league_moves WHERE tenant_no = owing.tenant_no AND NOT is_reported
                                  ORDER BY no LIMIT 1) AS first`,
    values: [except],
  });
  return rows;
}

export async function unreportedMoves(pool: Pool, tenantNo: number, limit: number): Promise<UnreportedMove[]> {
  const { rows } = await pool.query<UnreportedMove>(
    `SELECT no, tenant_no AS "tenantNo", user_id AS "userId", board_no AS "boardNo", run_day AS "runDay",
            epoch_ms(at) AS "atMs", tier_before AS "tierBefore", tier, rank
       FROM league_moves WHERE tenant_no = $1 AND NOT is_reported ORDER BY no LIMIT $2`,
    [tenantNo, limit],
  );
  return rows;
}

/** Notes that changes are reported, and returns those that were not. */
export async function noteMovesReported(
  client: Pool | PoolClient,
  tenantNo: number,
  nos: readonly number[],
): Promise<ReadonlySet<number>> {
  const { rows } = await client.query<{ no: number }>(
    `UPDATE league_moves SET is_reported = true WHERE tenant_no = $1 AND no = ANY ($2) AND NOT is_reported RETURNING no`,
    [tenantNo, nos],
  );
  return new Set(rows.map(({ no }) => no));
}
