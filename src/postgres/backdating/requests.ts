import type { Pool, PoolClient } from 'pg';

/** A backdating as it stands. */
export interface Backdating {
  tenantNo: number;
  achievementId: string;
  achievementNo: number;
  version: number;
  status: 'waiting' | 'running' | 'done';
  /** All users with an ID up to this one were looked at. */
  lastUser: string;
  usersDone: number;
  /** Users to look at, as counted at the beginning; null before that. */
  usersTotal: number | null;
  /** Users for whom something was completed. */
  completed: number;
  requested: Date;
  finished: Date | null;
}

const COLUMNS = `tenant_no AS "tenantNo", achievement_id AS "achievementId", achievement_no AS "achievementNo",
  version::float8, status, last_user AS "lastUser", users_done::float8 AS "usersDone",
  users_total::float8 AS "usersTotal", completed::float8, requested, finished`;

/** Asks for achievements of a tenant to be backdated, from the beginning if they are already; in the edit's transaction. */
export async function requestBackdatings(
  client: PoolClient,
  {
    tenantNo,
    version,
    achievements,
  }: { tenantNo: number; version: number; achievements: { id: string; no: number }[] },
): Promise<void> {
  await client.query(
    `INSERT INTO backdatings (tenant_no, achievement_id, achievement_no, version)
     SELECT $1, id, no, $2 FROM unnest($3::uuid[], $4::integer[]) AS asked (id, no)
     ON CONFLICT (tenant_no, achievement_no) DO UPDATE
       SET version = EXCLUDED.version, status = 'waiting', last_user = '', users_done = 0, users_total = NULL,
           completed = 0, requested = clock_timestamp(), finished = NULL`,
    [tenantNo, version, achievements.map(({ id }) => id), achievements.map(({ no }) => no)],
  );
}

/**
 * The oldest unfinished backdating that was asked for at least `settleMs` ago, by when every process has the
 * catalog that asked for it; locked for the transaction, passing over those that another worker has.
 */
export async function nextBackdating(client: PoolClient, settleMs: number): Promise<Backdating | null> {
  const { rows } = await client.query<Backdating>(
    `SELECT ${COLUMNS} FROM backdatings
      WHERE status <> 'done' AND requested < clock_timestamp() - make_interval(secs => $1)
      ORDER BY requested LIMIT 1 FOR UPDATE SKIP LOCKED`,
    [settleMs / 1000],
  );
  return rows[0] ?? null;
}

/** Begins one: counts the users to be looked at. */
export async function beginBackdating(client: PoolClient, { tenantNo, achievementNo }: Backdating): Promise<void> {
  await client.query(
    `UPDATE backdatings SET status = 'running',
            users_total = (SELECT count(*) FROM users WHERE tenant_no = $1)
      WHERE tenant_no = $1 AND achievement_no = $2`,
    [tenantNo, achievementNo],
  );
}

/** Notes what was done: up to which user, how many, and whether that was the end. */
export async function noteBackdating(
  client: PoolClient,
  { tenantNo, achievementNo }: Backdating,
  { lastUser, users, completed, end }: { lastUser: string; users: number; completed: number; end: boolean },
): Promise<void> {
  await client.query(
    `UPDATE backdatings SET last_user = $3, users_done = users_done + $4, completed = completed + $5,
            status = CASE WHEN $6 THEN 'done' ELSE status END, finished = CASE WHEN $6 THEN clock_timestamp() END
      WHERE tenant_no = $1 AND achievement_no = $2`,
    [tenantNo, achievementNo, lastUser, users, completed, end],
  );
}

/** A tenant's backdatings, youngest first. */
export async function listBackdatings(pool: Pool, tenantNo: number): Promise<Backdating[]> {
  const { rows } = await pool.query<Backdating>(
    `SELECT ${COLUMNS} FROM backdatings WHERE tenant_no = $1 ORDER BY requested DESC LIMIT 100`,
    [tenantNo],
  );
  return rows;
}
