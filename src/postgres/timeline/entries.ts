import { msOf, type TimelineBounds } from '../../domain/administration/timeline.ts';
import { storableText } from '../storable-json.ts';
import { SETTLEMENT_KINDS, type StreakChangeRow } from '../persist/streaks.ts';
import type { Pool } from 'pg';
import type { UnreportedMove } from '../boards/league-closings.ts';

/** Rows of one kind between two pairs of time and number. */
export interface RowsQuery extends Pick<TimelineRange, 'tenantNo' | 'userId' | 'newest' | 'limit'> {
  bounds: TimelineBounds;
}

export interface TimelineStreakRow extends Pick<
  StreakChangeRow,
  'frequency' | 'kind' | 'fromDay' | 'toDay' | 'length' | 'atMs' | 'correction'
> {
  no: number;
  who: string | null;
  supersededBy: string | null;
}

export interface TimelineFinalRow {
  /** Number of the run's group. */
  no: number;
  boardNo: number;
  runDay: number;
  lastDay: number;
  rank: number;
  score: number;
  /** Whether the rank was within the leaderboard's maximum of participants. */
  participates: boolean;
  atMs: number;
}

export type TimelineLeagueRow = Pick<
  UnreportedMove,
  'no' | 'boardNo' | 'runDay' | 'tierBefore' | 'tier' | 'rank' | 'atMs'
>;

export interface TimelineAuditRow {
  no: number;
  who: string;
  action: string;
  kind: string;
  id: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  atMs: number;
}

/** Parameters: tenant, user, the time and number above and below, limit. */
const between = (time: string, no: string, newest: boolean): string => `
   AND (epoch_ms(${time}), ${no}) > ($3::bigint, $4::bigint) AND (epoch_ms(${time}), ${no}) < ($5::bigint, $6::bigint)
 ORDER BY epoch_ms(${time}) ${newest ? 'DESC' : ''}, ${no} ${newest ? 'DESC' : ''} LIMIT $7`;

const parametersOf = ({ tenantNo, userId, bounds: { above, below }, limit }: RowsQuery): unknown[] => [
  tenantNo,
  storableText(userId),
  ...above,
  ...below,
  limit,
];

/** Kinds of changes by administrators: restored, replaced, reset. */
const BY_ADMINISTRATORS = '4, 5, 7';

/** Earned and given freezes and moves to another time zone have higher numbers. They are not changes of a streak. */
const OF_STREAKS = `kind <= ${SETTLEMENT_KINDS.length}`;

/** Changes to the user's streaks by the clock and administrators. O(the user's changes). */
export async function streakRows(pool: Pool, query: RowsQuery): Promise<TimelineStreakRow[]> {
  const { rows } = await pool.query<TimelineStreakRow>(
    `SELECT no, frequency, kind, from_day AS "fromDay", to_day AS "toDay", length, epoch_ms(at) AS "atMs",
            correction::text, superseded_by::text AS "supersededBy",
            CASE WHEN kind IN (${BY_ADMINISTRATORS}) THEN (
              SELECT who FROM audit_log AS audit
               WHERE audit.tenant_no = $1 AND about_user = $2 AND audit.kind = 'streak'
                 AND audit.at >= change.at AND audit.at < change.at + INTERVAL '1 minute'
               ORDER BY audit.no LIMIT 1) END AS who
       FROM streak_changes AS change
      WHERE tenant_no = $1 AND user_id = $2 AND ${OF_STREAKS} ${between('change.at', 'change.no', query.newest)}`,
    parametersOf(query),
  );
  return rows;
}

/** The user's results in final leaderboard runs. Cost: O(runs with the user). */
export async function finalRows(pool: Pool, query: RowsQuery): Promise<TimelineFinalRow[]> {
  const { rows } = await pool.query<TimelineFinalRow>(
    `SELECT member.group_id AS no, run.board_no AS "boardNo", run.run_day AS "runDay", run.last_day AS "lastDay", member.rank,
            member.score, member.place < grp.participants AS participates, epoch_ms(run.final_at) AS "atMs"
       FROM board_finals AS member
       JOIN board_run_groups AS grp ON grp.id = member.group_id
       JOIN board_runs AS run ON run.id = grp.run_id
      WHERE member.tenant_no = $1 AND member.user_id = $2 AND run.is_final
        ${between('run.final_at', 'member.group_id', query.newest)}`,
    parametersOf(query),
  );
  return rows;
}

/** The user's moves to other tiers of leagues. Cost: O(moves of the user). */
export async function leagueRows(pool: Pool, query: RowsQuery): Promise<TimelineLeagueRow[]> {
  const { rows } = await pool.query<TimelineLeagueRow>(
    `SELECT no, board_no AS "boardNo", run_day AS "runDay", tier_before AS "tierBefore", tier, rank, epoch_ms(at) AS "atMs"
       FROM league_moves WHERE tenant_no = $1 AND user_id = $2 ${between('league_moves.at', 'no', query.newest)}`,
    parametersOf(query),
  );
  return rows;
}

export interface TimelineMergeRow {
  id: string;
  from: string;
  into: string;
  who: string | null;
  at: Date;
}

/** The merges whose users the user has become. Cost: O(merges of the user). */
export async function mergeRows(
  pool: Pool,
  { tenantNo, userId, above, below, newest, limit }: TimelineRange,
): Promise<TimelineMergeRow[]> {
  const { rows } = await pool.query<TimelineMergeRow>(
    `SELECT id::text, old_id AS "from", into_id AS into, at,
            (SELECT who FROM audit_log AS audit
              WHERE audit.tenant_no = $1 AND about_user = into_id AND kind = 'user' AND action = 'merge'
                AND after ->> 'from' = old_id AND audit.at >= merge.at ORDER BY audit.no LIMIT 1) AS who
       FROM user_merges AS merge WHERE tenant_no = $1 AND user_id = $2 AND id > $3 AND id < $4
      ORDER BY id ${newest ? 'DESC' : ''} LIMIT $5`,
    [tenantNo, storableText(userId), above, below, limit],
  );
  return rows;
}

/** Administrators' actions on the user, without assistants' calls and those with entries of their own. O(actions on the user). */
export async function auditRows(pool: Pool, query: RowsQuery): Promise<TimelineAuditRow[]> {
  const { rows } = await pool.query<TimelineAuditRow>(
    `SELECT no, who, action, kind, id, before, after, epoch_ms(at) AS "atMs"
       FROM audit_log
      WHERE tenant_no = $1 AND about_user = $2 AND kind NOT IN ('streak', 'tool') AND action NOT IN ('reverse', 'merge')
        AND no > coalesce((SELECT max(no) FROM audit_log
                            WHERE tenant_no = $1 AND about_user = $2 AND action = 'delete' AND kind = 'user'), 0)
        ${between('audit_log.at', 'audit_log.no', query.newest)}`,
    parametersOf(query),
  );
  return rows;
}

/** A recomputation's changes to a user, or their reversal. */
export interface TimelineRecomputationRow {
  /** The cause in awards and completions. */
  cause: string;
  recomputationId: string;
  reverts: boolean;
  who: string;
  at: Date;
  catalogVersion: null;
  gained: number[];
  lost: number[];
}

/** Both steps of a user's recomputations. Parameters: tenant, user. */
const STEPS = `
  SELECT step.cause::text, job.id::text AS "recomputationId", step.reverts, job.requested_by AS who,
         ARRAY(SELECT (one ->> 0)::int FROM jsonb_array_elements(
           planned.applied -> CASE WHEN step.reverts THEN 'revoked' ELSE 'completed' END) AS one) AS gained,
         ARRAY(SELECT (one ->> 0)::int FROM jsonb_array_elements(
           planned.applied -> CASE WHEN step.reverts THEN 'completed' ELSE 'revoked' END) AS one) AS lost
    FROM recomputed_users AS planned JOIN recomputations AS job ON job.no = planned.recomputation_no
    CROSS JOIN LATERAL (VALUES (applied_id, false), (reverted_id, true)) AS step (cause, reverts)
   WHERE planned.tenant_no = $1 AND planned.user_id = $2 AND step.cause IS NOT NULL`;

/** IDs of recomputations' changes to a user. Cost: O(recomputations of the user). */
export async function recomputationIds(
  pool: Pool,
  { tenantNo, userId, above, below, newest, limit }: TimelineRange,
): Promise<string[]> {
  const { rows } = await pool.query<{ cause: string }>(
    `SELECT cause FROM (${STEPS}) AS made WHERE cause > $3 AND cause < $4
      ORDER BY cause ${newest ? 'DESC' : ''} LIMIT $5`,
    [tenantNo, storableText(userId), above, below, limit],
  );
  return rows.map(({ cause }) => cause);
}

/** Those of some IDs that belong to recomputations. */
export async function recomputationsOf(
  pool: Pool,
  { tenantNo, userId }: { tenantNo: number; userId: string },
  ids: readonly string[],
): Promise<TimelineRecomputationRow[]> {
  const { rows } = await pool.query<Omit<TimelineRecomputationRow, 'at' | 'catalogVersion'>>(
    `SELECT * FROM (${STEPS}) AS made WHERE cause = ANY ($3)`,
    [tenantNo, storableText(userId), ids],
  );
  return rows.map((row) => ({ ...row, at: new Date(msOf(row.cause)), catalogVersion: null }));
}

/** Positions of a timeline page, and the numbers that identify a user. */

export interface TimelineRange {
  tenantNo: number;
  userId: string;
  /** Positions, both exclusive (`src/domain/administration/timeline.ts`). */
  above: string;
  below: string;
  /** Newest first; otherwise oldest first. */
  newest: boolean;
  limit: number;
}

/**
 * CTEs (of WITH RECURSIVE) with the distinct numbers in a user's rows, for a table whose index begins with tenant (`$1`),
 * user (`$2`) and that number. Each number costs one index step, regardless of the number of rows. `from`, `to`: parameters
 * with a window of IDs of whole partitions (`idWindows`), because rows of a partition outside the window would be read one
 * by one.
 */
const numbersOf = (
  { table, column, name }: { table: string; column: string; name: string },
  { from, to }: { from: string; to: string },
): string => `
  ${name}_steps (no) AS (
    (SELECT ${column} FROM ${table} WHERE tenant_no = $1 AND user_id = $2 AND id >= ${from}::uuid AND id < ${to}::uuid
      ORDER BY ${column} LIMIT 1)
    UNION ALL
    SELECT (SELECT ${column} FROM ${table}
             WHERE tenant_no = $1 AND user_id = $2 AND ${column} > ${name}_steps.no
               AND id >= ${from}::uuid AND id < ${to}::uuid ORDER BY ${column} LIMIT 1)
      FROM ${name}_steps WHERE ${name}_steps.no IS NOT NULL
  ), ${name} (no) AS (SELECT no FROM ${name}_steps WHERE no IS NOT NULL)`;

/** `system (no)`: points systems in which the user has awards. */
export const userSystems = (window: { from: string; to: string }): string =>
  numbersOf({ table: 'awards', column: 'system_no', name: 'system' }, window);

/** `metric (no)`: metrics with events of the user. */
export const userMetrics = (window: { from: string; to: string }): string =>
  numbersOf({ table: 'events', column: 'metric_no', name: 'metric' }, window);
