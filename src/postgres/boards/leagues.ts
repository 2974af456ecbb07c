import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import type { Leagues } from '../../domain/leagues.ts';
import { storableText } from '../storable-json.ts';
import type { BoardRun } from '../../domain/runs.ts';

export type LeagueRun = BoardRun;

export interface LeagueBoard {
  tenantNo: number;
  boardNo: number;
  leagues: Leagues;
}

const HAS_LEAGUES = `kind = 'leaderboard' AND jsonb_typeof(doc -> 'leagues') = 'object' AND deleted IS NULL`;

/** The leaderboards with leagues of some tenants. */
export async function leagueBoards(client: PoolClient, tenantNos: readonly number[]): Promise<LeagueBoard[]> {
  const { rows } = await client.query<LeagueBoard>({
    name: 'league_boards',
    text: `SELECT tenant_no AS "tenantNo", no AS "boardNo", doc -> 'leagues' AS leagues
             FROM catalog_resources WHERE ${HAS_LEAGUES} AND tenant_no = ANY ($1)`,
    values: [tenantNos],
  });
  return rows;
}

export interface Entrant extends LeagueRun {
  userId: string;
  shard: number;
  group: string;
}

const ENTRANT = columns<Entrant>({
  tenantNo: 'int',
  userId: 'text',
  boardNo: 'int',
  runDay: 'int',
  shard: 'smallint',
  group: ['text', 'group_name'],
});

/** Notes users' first scores in runs, in order, and returns those that are new. They have no cohort yet. */
export async function addMembers(client: PoolClient, entrants: readonly Entrant[]): Promise<Entrant[]> {
  const { rows } = await client.query<Entrant>({
    name: 'add_league_members',
    text: `INSERT INTO league_members (tenant_no, user_id, board_no, run_day, shard, group_name)
           SELECT tenant_no, user_id, board_no, run_day, shard, group_name
             FROM ${ENTRANT.unnest('new', 1, 'nth')}
            WHERE NOT EXISTS (SELECT FROM league_members AS known
                               WHERE known.tenant_no = new.tenant_no AND known.user_id = new.user_id
                                 AND known.board_no = new.board_no AND known.run_day = new.run_day)
            ORDER BY nth
           ON CONFLICT DO NOTHING
           RETURNING ${ENTRANT.selected}`,
    values: ENTRANT.arrays(entrants),
  });
  return rows;
}

/**
 * The first day of the run in which a leaderboard's users get cohorts; `null` if there is none. It stays so until the
 * transaction ends. Before any run was closed, it is the oldest one that is not final.
 */
export async function lockOpenRun(
  client: PoolClient,
  { tenantNo, boardNo }: Omit<LeagueRun, 'runDay'>,
): Promise<number | null> {
  const read = (): Promise<{ rows: { openRunDay: number | null }[] }> =>
    client.query(
      'SELECT open_run_day AS "openRunDay" FROM league_boards WHERE tenant_no = $1 AND board_no = $2 FOR SHARE',
      [tenantNo, boardNo],
    );
  const row = (await read()).rows[0];
  if (row !== undefined) return row.openRunDay;
  await client.query(
    `INSERT INTO league_boards (tenant_no, board_no, open_run_day)
     SELECT tenant_no, board_no, next_run_day FROM board_progress WHERE tenant_no = $1 AND board_no = $2
     ON CONFLICT DO NOTHING`,
    [tenantNo, boardNo],
  );
  return (await read()).rows[0]?.openRunDay ?? null;
}

/** First number of the advisory lock; the second is the tenant and the shard. */
const LOCK = 0x6c65_6167; // 'leag'
const MOST_SHARDS = 256;

/** Waits for other transactions that fill cohorts of a tenant on some shards, usually none. */
export async function lockSeats(
  client: PoolClient,
  { tenantNo }: Pick<LeagueRun, 'tenantNo'>,
  shards: readonly number[],
): Promise<void> {
  const distinct = [...new Set(shards)].toSorted((a, b) => a - b);
  await client.query('SELECT pg_advisory_xact_lock($1::integer, seat) FROM unnest($2::integer[]) AS seat', [
    LOCK,
    distinct.map((shard) => tenantNo * MOST_SHARDS + shard),
  ]);
}

/** The tiers of those of some users who ever left the lowest one. */
export async function tiersOf(
  client: Pool | PoolClient,
  { tenantNo, boardNo }: Omit<LeagueRun, 'runDay'>,
  userIds: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await client.query<{ userId: string; tier: number }>(
    `SELECT user_id AS "userId", tier FROM league_tiers WHERE tenant_no = $1 AND board_no = $2 AND user_id = ANY ($3)`,
    [tenantNo, boardNo, userIds.map(storableText)],
  );
  return new Map(rows.map(({ userId, tier }) => [userId, tier]));
}

export interface TierRow {
  tenantNo: number;
  userId: string;
  boardNo: number;
  tier: number;
}

const TIER = columns<TierRow>({ tenantNo: 'int', userId: 'text', boardNo: 'int', tier: 'smallint' });
const INSERT_TIERS = `${TIER.insertInto('league_tiers')} ON CONFLICT (tenant_no, user_id, board_no) DO NOTHING`;

/** Stores the tiers of imported users. */
export async function insertTiers(client: PoolClient, tiers: readonly TierRow[]): Promise<void> {
  if (tiers.length > 0) await client.query(INSERT_TIERS, TIER.arrays(tiers));
}

/** What the users of a cohort have in common. */
export interface CohortKey {
  shard: number;
  tier: number;
  group: string;
}

const KEY = columns<CohortKey>({ shard: 'smallint', tier: 'smallint', group: ['text', 'group_name'] });

/** The newest cohort of each key, in order; `null` if there is none. */
export async function newestCohorts(
  client: PoolClient,
  { tenantNo, boardNo, runDay }: LeagueRun,
  keys: readonly CohortKey[],
): Promise<({ id: number; members: number } | null)[]> {
  const { rows } = await client.query<{ id: number | null; members: number }>(
    `SELECT newest.id, newest.members
       FROM ${KEY.unnest('key', 4, 'nth')}
       LEFT JOIN LATERAL (
            SELECT id, members FROM league_cohorts
             WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3 AND shard = key.shard AND tier = key.tier
               AND text_digest(league_cohorts.group_name) = text_digest(key.group_name)
             ORDER BY id DESC LIMIT 1) AS newest ON true
      ORDER BY nth`,
    [tenantNo, boardNo, runDay, ...KEY.arrays(keys)],
  );
  return rows.map((row) => (row.id === null ? null : { id: row.id, members: row.members }));
}

const COHORT = columns<CohortKey & { id: number; members: number }>({
  id: 'bigint',
  shard: 'smallint',
  tier: 'smallint',
  group: ['text', 'group_name'],
  members: 'int',
});

/** Creates cohorts and returns their IDs, in order. */
export async function addCohorts(
  client: PoolClient,
  { tenantNo, boardNo, runDay }: LeagueRun,
  cohorts: readonly (CohortKey & { members: number })[],
): Promise<number[]> {
  if (cohorts.length === 0) return [];
  const { rows } = await client.query<{ id: number }>(
    `SELECT nextval(pg_get_serial_sequence('league_cohorts', 'id')) AS id FROM generate_series(1, $1)`,
    [cohorts.length],
  );
  const ids = rows.map(({ id }) => id);
  await client.query(COHORT.insertInto('league_cohorts', ['tenant_no', 'board_no', 'run_day']), [
    tenantNo,
    boardNo,
    runDay,
    ...COHORT.arrays(cohorts.map((cohort, index) => ({ ...cohort, id: ids[index]! }))),
  ]);
  return ids;
}

/** Notes the numbers of members of cohorts, and in which cohorts users are. */
export async function putMembers(
  client: PoolClient,
  { tenantNo, boardNo, runDay }: LeagueRun,
  sizes: readonly { id: number; members: number }[],
  seats: readonly { userId: string; cohort: number }[],
): Promise<void> {
  await client.query(
    `UPDATE league_cohorts AS cohort SET members = now.members
       FROM unnest($1::bigint[], $2::integer[]) AS now (id, members) WHERE cohort.id = now.id`,
    [sizes.map(({ id }) => id), sizes.map(({ members }) => members)],
  );
  await client.query(
    `UPDATE league_members AS member SET cohort = seat.cohort
       FROM unnest($4::text[], $5::bigint[]) AS seat (user_id, cohort)
      WHERE member.tenant_no = $1 AND member.board_no = $2 AND member.run_day = $3 AND member.user_id = seat.user_id`,
    [tenantNo, boardNo, runDay, seats.map(({ userId }) => storableText(userId)), seats.map(({ cohort }) => cohort)],
  );
}

/** A user's place in the leagues of a run. */
export interface LeaguePlace {
  /** The tier of the cohort, or else the user's own. */
  tier: number;
  /** How the user moved when the run was closed; `null` if not at all. */
  moved: TierChange | null;
  /** The members of the cohort, with how they moved; `null` without a cohort. */
  members: { userId: string; moved: TierChange | null }[] | null;
  isClosed: boolean;
}

export interface TierChange {
  before: number;
  after: number;
}

const MOVED = `CASE WHEN moved.no IS NOT NULL THEN jsonb_build_object('before', moved.tier_before, 'after', moved.tier) END`;

export async function leaguePlace(
  pool: Pool,
  { tenantNo, boardNo, runDay }: LeagueRun,
  userId: string,
): Promise<LeaguePlace> {
  const { rows } = await pool.query<LeaguePlace>(
    `SELECT coalesce(own.tier, moved.tier_before,
                     (SELECT tier FROM league_tiers WHERE tenant_no = $1 AND board_no = $2 AND user_id = $4), 0) AS tier,
            ${MOVED} AS moved,
            CASE WHEN own.id IS NOT NULL THEN (
              SELECT jsonb_agg(jsonb_build_object('userId', other.user_id, 'moved', ${MOVED}))
                FROM league_members AS other
                LEFT JOIN league_moves AS moved USING (tenant_no, user_id, board_no, run_day)
               WHERE other.cohort = own.id) END AS members,
            EXISTS (SELECT FROM board_runs AS run
                     WHERE run.tenant_no = $1 AND run.board_no = $2 AND run.run_day = $3 AND run.is_final
                       AND NOT EXISTS (SELECT FROM league_closings WHERE run_id = run.id)) AS "isClosed"
       FROM (SELECT) AS one
       LEFT JOIN (league_members AS member JOIN league_cohorts AS own ON own.id = member.cohort)
              ON member.tenant_no = $1 AND member.board_no = $2 AND member.run_day = $3 AND member.user_id = $4
       LEFT JOIN league_moves AS moved
              ON moved.tenant_no = $1 AND moved.board_no = $2 AND moved.run_day = $3 AND moved.user_id = $4`,
    [tenantNo, boardNo, runDay, storableText(userId)],
  );
  return rows[0]!;
}

/** A cohort of a run. */
export interface ListedCohort {
  id: number;
  tier: number;
  group: string;
  /** Who entered it, users included who are deleted by now. */
  members: number;
}

/** The cohorts of a run after one of them, in the order in which they were created. */
export async function listCohorts(
  pool: Pool,
  { tenantNo, boardNo, runDay }: LeagueRun,
  after: number,
  limit: number,
): Promise<ListedCohort[]> {
  const { rows } = await pool.query<ListedCohort>(
    `SELECT id, tier, group_name AS "group", members FROM league_cohorts
      WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3 AND id > $4 ORDER BY id LIMIT $5`,
    [tenantNo, boardNo, runDay, after, limit],
  );
  return rows;
}

/** By tier: users and cohorts of a run; and how many users wait for a cohort. */
export async function countLeagues(
  pool: Pool,
  { tenantNo, boardNo, runDay }: LeagueRun,
): Promise<{ tiers: { tier: number; users: number; cohorts: number }[]; waiting: number }> {
  const [{ rows: tiers }, { rows: waiting }] = await Promise.all([
    pool.query<{ tier: number; users: number; cohorts: number }>(
      `SELECT tier, sum(members)::integer AS users, count(*)::integer AS cohorts FROM league_cohorts
        WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3 GROUP BY tier`,
      [tenantNo, boardNo, runDay],
    ),
    pool.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM league_members
        WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3 AND cohort IS NULL`,
      [tenantNo, boardNo, runDay],
    ),
  ]);
  return { tiers, waiting: waiting[0]!.count };
}
