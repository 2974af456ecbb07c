import type { Pool, PoolClient } from 'pg';

/** A request that all users of a tenant be gone through, in the order of their IDs, as it stands. */
export interface UserPass {
  tenantNo: number;
  status: 'waiting' | 'running' | 'done';
  /** All users with an ID up to this one were looked at. */
  lastUser: string;
  usersDone: number;
  /** Users to look at, as counted at the beginning; null before that. */
  usersTotal: number | null;
  requested: Date;
  finished: Date | null;
}

/** What was done of a pass: up to which user, how many were looked at, and whether that was the end. */
export interface PassStep {
  lastUser: string;
  users: number;
  end: boolean;
}

/** A table of such requests. */
export interface PassTable {
  name: string;
  /** The column that names a request, with the tenant. */
  no: string;
  /** The column that counts the users for whom something came of it. */
  counter: string;
  /** The columns that only this table has, as they are selected. */
  own: string;
}

/** Sets a request back to its beginning. */
export const ANEW = `status = 'waiting', last_user = '', users_done = 0, users_total = NULL,
  requested = clock_timestamp(), finished = NULL`;

/** Begins a request: counts the users to be looked at. `$1`: the tenant. */
export const BEGUN = `status = 'running', users_total = (SELECT count(*) FROM users WHERE tenant_no = $1)`;

const columns = ({ own }: PassTable): string => `tenant_no AS "tenantNo", status, last_user AS "lastUser",
  users_done::float8 AS "usersDone", users_total::float8 AS "usersTotal", requested, finished, ${own}`;

/** Which request is to be worked on next. */
export interface NextPass {
  /** How old a request must be, so that every process has the catalog that made it; ms. */
  settleMs: number;
  /** Requests to be left out: `<tenant no>:<no>`. */
  except: readonly string[];
}

/** The oldest unfinished request that is old enough, passing over those that another worker has. */
export async function nextPass<Pass extends UserPass>(
  pool: Pool,
  table: PassTable,
  { settleMs, except }: NextPass,
): Promise<Pass | null> {
  const { rows } = await pool.query<Pass>(
    `SELECT ${columns(table)} FROM ${table.name}
      WHERE status <> 'done' AND requested < clock_timestamp() - make_interval(secs => $1)
        AND tenant_no || ':' || ${table.no} <> ALL ($2)
      ORDER BY requested LIMIT 1 FOR UPDATE SKIP LOCKED`,
    [settleMs / 1000, except],
  );
  return rows[0] ?? null;
}

/** Whether any request is unfinished. */
export async function isPassWaiting(pool: Pool, { name }: PassTable): Promise<boolean> {
  const { rows } = await pool.query<{ waits: boolean }>(
    `SELECT EXISTS (SELECT FROM ${name} WHERE status <> 'done') AS waits`,
  );
  return rows[0]!.waits;
}

/** A request as it stands, locked for the transaction; null: it is done, or another worker has it. */
export async function lockPass<Pass extends UserPass>(
  client: PoolClient,
  table: PassTable,
  { tenantNo, no }: { tenantNo: number; no: number },
): Promise<Pass | null> {
  const { rows } = await client.query<Pass>(
    `SELECT ${columns(table)} FROM ${table.name}
      WHERE status <> 'done' AND tenant_no = $1 AND ${table.no} = $2 FOR UPDATE SKIP LOCKED`,
    [tenantNo, no],
  );
  return rows[0] ?? null;
}

/** Notes what was done, and for how many users something came of it. */
export async function notePass(
  client: PoolClient,
  { name, no, counter }: PassTable,
  pass: { tenantNo: number; no: number },
  { lastUser, users, end, counted }: PassStep & { counted: number },
): Promise<void> {
  await client.query(
    `UPDATE ${name} SET last_user = $3, users_done = users_done + $4, ${counter} = ${counter} + $5,
            status = CASE WHEN $6 THEN 'done' ELSE status END, finished = CASE WHEN $6 THEN clock_timestamp() END
      WHERE tenant_no = $1 AND ${no} = $2`,
    [pass.tenantNo, pass.no, lastUser, users, counted, end],
  );
}

/** A tenant's requests, youngest first, a hundred at most. */
export async function listPasses<Pass extends UserPass>(
  pool: Pool,
  table: PassTable,
  tenantNo: number,
): Promise<Pass[]> {
  const { rows } = await pool.query<Pass>(
    `SELECT ${columns(table)} FROM ${table.name} WHERE tenant_no = $1 ORDER BY requested DESC LIMIT 100`,
    [tenantNo],
  );
  return rows;
}
