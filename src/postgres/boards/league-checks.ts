/** What verification reads about leagues, some users or cohorts at a time. */
import type { Pool } from 'pg';
import { storableText } from '../storable-json.ts';
import type { LeagueRun } from './leagues.ts';
import type { BoardRun } from '../../domain/runs.ts';

type NamedUser = { tenantNo: number; id: string };

const NAMED = 'unnest($1::int[], $2::text[]) AS named (tenant_no, user_id)';
const named = (users: readonly NamedUser[]): [number[], string[]] => [
  users.map(({ tenantNo }) => tenantNo),
  users.map(({ id }) => storableText(id)),
];

/** A user's tier on a leaderboard that is not the one after the newest move. */
export interface UnmovedTier {
  tenantNo: number;
  userId: string;
  boardNo: number;
  /** `null`: the lowest one, which nobody stored. */
  held: number | null;
  /** `null`: the user never moved. */
  moved: number | null;
}

/**
 * Tiers of some users that differ from their newest moves. Omits users who were merged with another since that move, because they have
 * the higher tier of the two.
 */
export async function unmovedTiers(pool: Pool, users: readonly NamedUser[]): Promise<UnmovedTier[]> {
  if (users.length === 0) return [];
  const { rows } = await pool.query<UnmovedTier>(
    `SELECT tenant_no AS "tenantNo", user_id AS "userId", board_no AS "boardNo", held.tier AS held, newest.tier AS moved
       FROM (SELECT tenant_no, user_id, board_no FROM ${NAMED} JOIN league_tiers USING (tenant_no, user_id)
             UNION
             SELECT tenant_no, user_id, board_no FROM ${NAMED} JOIN league_moves USING (tenant_no, user_id)) AS own
       LEFT JOIN league_tiers AS held USING (tenant_no, user_id, board_no)
       LEFT JOIN LATERAL (
            SELECT tier, at FROM league_moves AS move
             WHERE move.tenant_no = own.tenant_no AND move.user_id = own.user_id AND move.board_no = own.board_no
             ORDER BY run_day DESC LIMIT 1) AS newest ON true
      WHERE held.tier IS DISTINCT FROM newest.tier
        AND NOT EXISTS (SELECT FROM user_merges AS merge
                         WHERE merge.tenant_no = own.tenant_no AND merge.user_id = own.user_id
                           AND (newest.at IS NULL OR merge.at >= newest.at))`,
    named(users),
  );
  return rows;
}

/** Where a user is in the run of a leaderboard in which users get cohorts. */
export interface Seat extends BoardRun {
  userId: string;
  /** Whether the user is known to the run. */
  isMember: boolean;
  /** `null`: none. */
  cohort: number | null;
  /** Whether the cohort exists, and is one of this run, of the user's part and group. */
  fits: boolean;
  /** The tiers of the cohort and of the user. */
  cohortTier: number | null;
  tier: number;
  /** Whether the score may come from another user or from a recomputation. */
  isChanged: boolean;
}

/** The seats of some users in the open runs of all their tenants' leaderboards. */
export async function openSeats(pool: Pool, users: readonly NamedUser[]): Promise<Seat[]> {
  if (users.length === 0) return [];
  const { rows } = await pool.query<Seat>(
    `SELECT named.tenant_no AS "tenantNo", named.user_id AS "userId", board.board_no AS "boardNo", open_run_day AS "runDay",
            member.no IS NOT NULL AS "isMember", member.cohort,
            coalesce(cohort.tenant_no = member.tenant_no AND cohort.board_no = member.board_no
              AND cohort.run_day = member.run_day AND cohort.shard = member.shard
              AND cohort.group_name = member.group_name, false) AS fits,
            cohort.tier AS "cohortTier", coalesce(held.tier, 0) AS tier,
            EXISTS (SELECT FROM user_merges AS merge
                     WHERE merge.tenant_no = named.tenant_no AND merge.user_id = named.user_id)
              OR EXISTS (SELECT FROM recomputed_users AS changed
                          WHERE changed.tenant_no = named.tenant_no AND changed.user_id = named.user_id
                            AND changed.applied_id IS NOT NULL) AS "isChanged"
       FROM ${NAMED}
       JOIN league_boards AS board ON board.tenant_no = named.tenant_no AND board.open_run_day IS NOT NULL
       LEFT JOIN league_members AS member ON member.tenant_no = named.tenant_no AND member.user_id = named.user_id
        AND member.board_no = board.board_no AND member.run_day = board.open_run_day
       LEFT JOIN league_cohorts AS cohort ON cohort.id = member.cohort
       LEFT JOIN league_tiers AS held ON held.tenant_no = named.tenant_no AND held.user_id = named.user_id
        AND held.board_no = board.board_no`,
    named(users),
  );
  return rows;
}

/** A cohort, and whether its run is closed. */
export interface StoredCohort extends LeagueRun {
  id: number;
  tier: number;
  /** The members that were counted. */
  members: number;
  /** The rows of members, and those of another run, part or group. */
  rows: number;
  strangers: number;
  /** `null`: users have not moved. */
  closed: { runId: number; finalMs: number } | null;
}

/** Identifies a cohort in the order of tenants, leaderboards and runs. */
export type CohortPosition = LeagueRun & { id: number };

/** The next cohorts in the order of tenants, leaderboards and runs. `tenants`: `null` for all. */
export async function cohortsFrom(
  pool: Pool,
  tenants: readonly number[] | null,
  after: CohortPosition | null,
  limit: number,
): Promise<StoredCohort[]> {
  const { tenantNo, boardNo, runDay, id } = after ?? { tenantNo: -1, boardNo: 0, runDay: 0, id: 0 };
  const { rows } = await pool.query<StoredCohort>(
    `WITH page AS MATERIALIZED (
       SELECT * FROM league_cohorts
        WHERE (tenant_no, board_no, run_day, id) > ($1::int, $2::int, $3::int, $4::bigint)
          AND ($5::int[] IS NULL OR tenant_no = ANY ($5))
        ORDER BY tenant_no, board_no, run_day, id LIMIT $6
     )
     SELECT page.id, page.tenant_no AS "tenantNo", page.board_no AS "boardNo", page.run_day AS "runDay", page.tier, page.members,
            counted.rows, counted.strangers,
            CASE WHEN run.id IS NOT NULL THEN jsonb_build_object('runId', run.id, 'finalMs', epoch_ms(run.final_at)) END AS closed
       FROM page
      CROSS JOIN LATERAL (
            SELECT count(*)::int AS rows,
                   count(*) FILTER (WHERE (member.tenant_no, member.board_no, member.run_day, member.shard, member.group_name)
                     <> (page.tenant_no, page.board_no, page.run_day, page.shard, page.group_name))::int AS strangers
              FROM league_members AS member WHERE member.cohort = page.id) AS counted
       LEFT JOIN board_runs AS run ON run.tenant_no = page.tenant_no AND run.board_no = page.board_no
        AND run.run_day = page.run_day AND run.is_final
        AND NOT EXISTS (SELECT FROM league_closings WHERE run_id = run.id)
      ORDER BY page.tenant_no, page.board_no, page.run_day, page.id`,
    [tenantNo, boardNo, runDay, id, tenants, limit],
  );
  return rows;
}

/** A member of a cohort of a closed run. */
export interface ClosedSeat {
  cohort: number;
  userId: string;
  /** `null`: the user stayed. */
  moved: { before: number; after: number; rank: number | null } | null;
  /** Whether the user has become another one, too. */
  isMerged: boolean;
}

/** The members of some cohorts of a run, with how they moved. */
export async function closedSeats(pool: Pool, cohorts: readonly number[]): Promise<ClosedSeat[]> {
  const { rows } = await pool.query<ClosedSeat>(
    `SELECT member.cohort, user_id AS "userId",
            CASE WHEN move.no IS NOT NULL
                 THEN jsonb_build_object('before', move.tier_before, 'after', move.tier, 'rank', move.rank) END AS moved,
            EXISTS (SELECT FROM user_merges AS merge
                     WHERE merge.tenant_no = member.tenant_no AND merge.user_id = member.user_id) AS "isMerged"
       FROM league_members AS member LEFT JOIN league_moves AS move USING (tenant_no, user_id, board_no, run_day)
      WHERE member.cohort = ANY ($1)`,
    [cohorts],
  );
  return rows;
}
