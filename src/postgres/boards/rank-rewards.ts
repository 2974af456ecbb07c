import type { Pool, PoolClient } from 'pg';
import type { RankBand } from '../../domain/fields/rank.ts';
import { storableText } from '../storable-json.ts';
import type { BoardRun } from '../../domain/runs.ts';

/** A points trigger or an achievement that rewards ranks of a run. */
export type RankRule = RankBand & { no: number };

/** A final run whose ranks are not completely rewarded. */
export interface OwingRun extends BoardRun {
  runId: number;
  finalMs: number;
  /** Version of the tenant's catalog at the time of the read. */
  version: number;
  rules: RankRule[];
  /** Everyone before this place of this group has the reward; groups are in the order of their IDs. */
  groupId: number;
  place: number;
}

/** Notes the rules that reward ranks of a run, in the transaction that declares it final. Later rules reward later runs. */
export async function oweRewards(client: PoolClient, runId: number): Promise<void> {
  await client.query(
    `INSERT INTO run_rewards (run_id, rules)
     SELECT run.id, jsonb_agg(jsonb_build_object(
              'no', rule.no, 'rankFrom', rule.doc -> 'rankFrom', 'rankTo', rule.doc -> 'rankTo',
              'rankPercent', rule.doc -> 'rankPercent') ORDER BY rule.no)
       FROM board_runs AS run
       JOIN catalog_resources AS board ON board.tenant_no = run.tenant_no AND board.no = run.board_no
        AND board.kind = 'leaderboard' AND board.deleted IS NULL
       JOIN catalog_resources AS rule ON rule.tenant_no = run.tenant_no AND rule.deleted IS NULL
        AND rule.kind IN ('points_trigger', 'achievement') AND rule.doc ->> 'status' = 'active'
        AND rule.doc ->> 'leaderboardId' = board.id::text
        AND coalesce((rule.doc ->> 'activated')::bigint, epoch_ms(rule.created)) < epoch_ms(run.final_at)
      WHERE run.id = $1
      GROUP BY run.id
     ON CONFLICT (run_id) DO NOTHING`,
    [runId],
  );
}

/** The oldest run of each leaderboard whose ranks are not completely rewarded, oldest first. */
export async function owingRuns(pool: Pool): Promise<OwingRun[]> {
  const { rows } = await pool.query<OwingRun>({
    name: 'owing_runs',
    text: `SELECT * FROM (
             SELECT DISTINCT ON (run.tenant_no, run.board_no)
                    run.id AS "runId", run.tenant_no AS "tenantNo", run.board_no AS "boardNo", run.run_day AS "runDay",
                    epoch_ms(run.final_at) AS "finalMs", tenants.catalog_version AS version,
                    reward.rules, reward.group_id AS "groupId", reward.place
               FROM run_rewards AS reward
               JOIN board_runs AS run ON run.id = reward.run_id
               JOIN tenants ON tenants.no = run.tenant_no AND tenants.status = 'active'
              WHERE NOT reward.is_done
              ORDER BY run.tenant_no, run.board_no, run.run_day) AS oldest
            ORDER BY "finalMs", "tenantNo", "boardNo"`,
  });
  return rows;
}

/** Numbers of the leaderboards in whose oldest owing run both of two users have a place. Earlier runs are rewarded, later ones are not yet. */
export async function boardsRankingBoth(
  client: PoolClient,
  { tenantNo, from, into }: { tenantNo: number; from: string; into: string },
): Promise<Set<number>> {
  const { rows } = await client.query<{ boardNo: number }>(
    `SELECT run.board_no AS "boardNo"
       FROM (SELECT DISTINCT ON (run.board_no) run.id, run.board_no
               FROM run_rewards AS reward JOIN board_runs AS run ON run.id = reward.run_id
              WHERE NOT reward.is_done AND run.tenant_no = $1
              ORDER BY run.board_no, run.run_day) AS run
      WHERE 2 = (SELECT count(DISTINCT place.user_id)
                   FROM board_finals AS place JOIN board_run_groups AS own ON own.id = place.group_id
                  WHERE place.tenant_no = $1 AND place.user_id = ANY ($2) AND own.run_id = run.id)`,
    [tenantNo, [storableText(from), storableText(into)]],
  );
  return new Set(rows.map(({ boardNo }) => boardNo));
}

/** The groups of a run from one on, and how many users of each are on the leaderboard. */
export async function rewardedGroups(
  pool: Pool,
  { runId, groupId }: Pick<OwingRun, 'runId' | 'groupId'>,
): Promise<{ id: number; name: string; participants: number }[]> {
  const { rows } = await pool.query<{ id: number; name: string; participants: number }>(
    'SELECT id, name, participants FROM board_run_groups WHERE run_id = $1 AND id >= $2 ORDER BY id',
    [runId, groupId],
  );
  return rows;
}

export interface RankedUser {
  userId: string;
  place: number;
  rank: number;
  score: number;
}

/** The next users of a final group from a place on, below a place, whose rank is at least `first`; best first. */
export async function usersFrom(
  pool: Pool,
  { groupId, from, to, first, limit }: { groupId: number; from: number; to: number; first: number; limit: number },
): Promise<RankedUser[]> {
  const { rows } = await pool.query<RankedUser>({
    name: 'users_from_place',
    text: `SELECT user_id AS "userId", place, rank, score FROM board_finals
            WHERE group_id = $1 AND place >= $2 AND place < $3 AND rank >= $4 ORDER BY place LIMIT $5`,
    values: [groupId, from, to, first, limit],
  });
  return rows;
}

/** Notes how far a run is rewarded. Progress never goes back. */
export async function noteRewarded(
  pool: Pool,
  runId: number,
  { groupId, place }: Pick<OwingRun, 'groupId' | 'place'>,
): Promise<void> {
  await pool.query(
    `UPDATE run_rewards SET group_id = $2, place = $3 WHERE run_id = $1 AND (group_id, place) < ($2, $3)`,
    [runId, groupId, place],
  );
}

export async function endRewarding(pool: Pool, runId: number): Promise<void> {
  await pool.query('UPDATE run_rewards SET is_done = true WHERE run_id = $1', [runId]);
}

/** What a user got for a rank in a final run. `points`: by number of the points system. */
export interface RankRewardRow extends BoardRun {
  userId: string;
  rank: number;
  points: Record<string, number>;
  achievements: number[];
}

export async function insertRankRewards(client: PoolClient, rewards: readonly RankRewardRow[]): Promise<void> {
  if (rewards.length === 0) return;
  await client.query(
    `INSERT INTO rank_rewards (tenant_no, user_id, board_no, run_day, rank, points, achievements)
     SELECT "tenantNo", "userId", "boardNo", "runDay", rank, points, achievements
       FROM jsonb_to_recordset($1::jsonb) AS reward ("tenantNo" integer, "userId" text, "boardNo" integer,
            "runDay" integer, rank integer, points jsonb, achievements integer[])
     ON CONFLICT DO NOTHING`,
    [JSON.stringify(rewards.map((reward) => ({ ...reward, userId: storableText(reward.userId) })))],
  );
}

/** Points that a reward for a rank noted, and that the awards of no change at that time add up to. */
export interface UnpaidRankReward extends BoardRun {
  userId: string;
  systemNo: number;
  points: number;
  awarded: number;
}

/** An ID with this time; no entry has it. `ms`: expression. */
const idAt = (ms: string): string => `(lpad(to_hex(${ms}), 12, '0') || repeat('0', 20))::uuid`;

/** The rewards of some users for ranks whose points the awards do not have, except awards that were dropped with their day. */
export async function unpaidRankRewards(
  pool: Pool,
  users: readonly { tenantNo: number; id: string }[],
): Promise<UnpaidRankReward[]> {
  if (users.length === 0) return [];
  const { rows } = await pool.query<UnpaidRankReward>(
    `SELECT reward.tenant_no AS "tenantNo", reward.user_id AS "userId", reward.board_no AS "boardNo", reward.run_day AS "runDay",
            system_no::int AS "systemNo", paid.points::float8, coalesce((own.sums)[1], 0)::float8 AS awarded
       FROM unnest($1::int[], $2::text[]) AS named (tenant_no, user_id)
       JOIN rank_rewards AS reward USING (tenant_no, user_id)
       JOIN board_runs AS run ON run.tenant_no = reward.tenant_no AND run.board_no = reward.board_no AND run.run_day = reward.run_day
      CROSS JOIN LATERAL (SELECT key AS system_no, value::bigint AS points FROM jsonb_each_text(reward.points)) AS paid
      CROSS JOIN LATERAL (
        -- The IDs of a change's awards begin with the change's.
        SELECT array_agg(sum) AS sums FROM (
          SELECT sum(awarded)::bigint AS sum FROM awards AS award
           WHERE award.tenant_no = reward.tenant_no AND award.user_id = reward.user_id AND award.system_no = paid.system_no::int
             AND award.id >= ${idAt('epoch_ms(run.final_at)')} AND award.id < ${idAt('epoch_ms(run.final_at) + 1')}
           GROUP BY left(award.id::text, 32)) AS changes) AS own
      WHERE paid.points <> 0 AND paid.points <> ALL (coalesce(own.sums, '{}'))
        -- Awards of a merged user may be on their way (row-moves.ts).
        AND NOT EXISTS (SELECT FROM jobs WHERE jobs.tenant_no = reward.tenant_no AND jobs.kind = 'user_merge'
                           AND jobs.parameters ? 'rows' AND jobs.result ->> 'into' = reward.user_id)
        AND ${idAt('epoch_ms(run.final_at)')} >= coalesce(
              (SELECT end_id FROM event_partitions WHERE is_dropped ORDER BY end_day DESC LIMIT 1), ${idAt('0')})`,
    [users.map(({ tenantNo }) => tenantNo), users.map(({ id }) => storableText(id))],
  );
  return rows;
}

/** What some users got in a run, by user ID. */
export async function rankRewards(
  pool: Pool,
  { tenantNo, boardNo, runDay }: { tenantNo: number; boardNo: number; runDay: number },
  userIds: readonly string[],
): Promise<Map<string, Pick<RankRewardRow, 'points' | 'achievements'>>> {
  const { rows } = await pool.query<Pick<RankRewardRow, 'userId' | 'points' | 'achievements'>>(
    `SELECT user_id AS "userId", points, achievements FROM rank_rewards
      WHERE tenant_no = $1 AND user_id = ANY ($2) AND board_no = $3 AND run_day = $4`,
    [tenantNo, userIds.map(storableText), boardNo, runDay],
  );
  return new Map(rows.map(({ userId, ...reward }) => [userId, reward]));
}
