import type { Pool, PoolClient } from 'pg';

/** A board's filling from history, as it stands. */
export interface BoardFill {
  tenantNo: number;
  boardNo: number;
  boardId: string;
  status: 'waiting' | 'running' | 'done';
  /** First day of the first run that Redis holds; null: all are past. Known from the beginning on. */
  openRunDay: number | null;
  /** All users with an ID up to this one were looked at. */
  lastUser: string;
  usersDone: number;
  /** Users to look at, as counted at the beginning; null before that. */
  usersTotal: number | null;
  /** Users who have a score by history. */
  scored: number;
  requested: Date;
  finished: Date | null;
}

const COLUMNS = `tenant_no AS "tenantNo", board_no AS "boardNo", board_id AS "boardId", status,
  open_run_day AS "openRunDay", last_user AS "lastUser", users_done::float8 AS "usersDone",
  users_total::float8 AS "usersTotal", scored::float8, requested, finished`;

/** Asks for boards to be filled, from the beginning if they are already; in the edit's transaction. */
export async function requestFills(
  client: PoolClient,
  tenantNo: number,
  boards: readonly { id: string; no: number }[],
): Promise<void> {
  await client.query(
    `INSERT INTO board_fills (tenant_no, board_no, board_id)
     SELECT $1, * FROM unnest($2::integer[], $3::uuid[])
     ON CONFLICT (tenant_no, board_no) DO UPDATE
       SET status = 'waiting', open_run_day = NULL, last_user = '', users_done = 0, users_total = NULL, scored = 0,
           requested = clock_timestamp(), finished = NULL`,
    [tenantNo, boards.map(({ no }) => no), boards.map(({ id }) => id)],
  );
  await client.query('DELETE FROM board_past_scores WHERE tenant_no = $1 AND board_no = ANY ($2)', [
    tenantNo,
    boards.map(({ no }) => no),
  ]);
}

/**
 * The oldest unfinished filling that was asked for at least `settleMs` ago; locked for the transaction, passing over
 * those that another worker has.
 */
export async function nextFill(client: PoolClient, settleMs: number): Promise<BoardFill | null> {
  const { rows } = await client.query<BoardFill>(
    `SELECT ${COLUMNS} FROM board_fills
      WHERE status <> 'done' AND requested < clock_timestamp() - make_interval(secs => $1)
      ORDER BY requested LIMIT 1 FOR UPDATE SKIP LOCKED`,
    [settleMs / 1000],
  );
  return rows[0] ?? null;
}

/** Begins one: counts the users to be looked at. The first run that is Redis's; null: all are past. */
export async function beginFill(client: PoolClient, { tenantNo, boardNo }: BoardFill): Promise<number | null> {
  const { rows } = await client.query<{ openRunDay: number | null }>(
    `UPDATE board_fills SET status = 'running',
            open_run_day = (SELECT next_run_day FROM board_progress WHERE tenant_no = $1 AND board_no = $2),
            users_total = (SELECT count(*) FROM users WHERE tenant_no = $1)
      WHERE tenant_no = $1 AND board_no = $2 RETURNING open_run_day AS "openRunDay"`,
    [tenantNo, boardNo],
  );
  return rows[0]!.openRunDay;
}

/** Notes what was done: up to which user, how many, and whether that was the end. */
export async function noteFill(
  client: PoolClient,
  { tenantNo, boardNo }: BoardFill,
  { lastUser, users, scored, end }: { lastUser: string; users: number; scored: number; end: boolean },
): Promise<void> {
  await client.query(
    `UPDATE board_fills SET last_user = $3, users_done = users_done + $4, scored = scored + $5,
            status = CASE WHEN $6 THEN 'done' ELSE status END, finished = CASE WHEN $6 THEN clock_timestamp() END
      WHERE tenant_no = $1 AND board_no = $2`,
    [tenantNo, boardNo, lastUser, users, scored, end],
  );
}

/** A tenant's fillings, youngest first. */
export async function listFills(pool: Pool, tenantNo: number): Promise<BoardFill[]> {
  const { rows } = await pool.query<BoardFill>(
    `SELECT ${COLUMNS} FROM board_fills WHERE tenant_no = $1 ORDER BY requested DESC LIMIT 100`,
    [tenantNo],
  );
  return rows;
}
