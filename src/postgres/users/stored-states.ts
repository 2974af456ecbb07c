import type { Pool, PoolClient } from 'pg';
import { PARTS } from '../shards.ts';
import { storableText } from '../storable-json.ts';

export async function storedState(
  pool: Pool | PoolClient,
  { tenantNo, userId }: { tenantNo: number; userId: string },
): Promise<Buffer | null> {
  const { rows } = await pool.query<{ state: Buffer }>('SELECT state FROM users WHERE tenant_no = $1 AND id = $2', [
    tenantNo,
    userId,
  ]);
  return rows[0]?.state ?? null;
}

/** Packed states of some users of a tenant in Postgres, by ID. Omits users who are not stored. */
export async function storedStates(
  pool: Pool | PoolClient,
  tenantNo: number,
  userIds: readonly string[],
): Promise<Map<string, Buffer>> {
  if (userIds.length === 0) return new Map();
  const { rows } = await pool.query<{ id: string; state: Buffer }>(
    'SELECT id, state FROM users WHERE tenant_no = $1 AND id = ANY ($2)',
    [tenantNo, userIds.map(storableText)],
  );
  return new Map(rows.map(({ id, state }) => [id, state]));
}

/** Time zones of some users of a tenant, by ID: an IANA name, `''` for UTC. Omits users who are not stored. */
export async function storedZones(
  pool: Pool,
  tenantNo: number,
  userIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; zone: string }>(
    'SELECT id, zone FROM users WHERE tenant_no = $1 AND id = ANY ($2)',
    [tenantNo, userIds.map(storableText)],
  );
  return new Map(rows.map(({ id, zone }) => [id, zone]));
}

/** First number of the advisory lock; the second is the tenant. */
const LOCK = 0x6e61_6d65; // 'name'

/**
 * For a transaction that stores users that it reads from Redis. Call it before the read: deletions of the tenant's users
 * (`beforeDeletion`) then wait until the transaction ends. Otherwise, the transaction could store a user who was deleted in
 * between.
 */
export async function beforeNaming(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock_shared($1, $2)', [LOCK, tenantNo]);
}

/** Waits for transactions that may have read a deleted user in Redis, to find what they stored. */
export async function beforeDeletion(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1, $2)', [LOCK, tenantNo]);
}

export interface StoredUser {
  tenantNo: number;
  id: string;
  /** Packed, see `src/packed/state.ts`. */
  state: Buffer;
}

/** Pages of the users of some tenants (`null` for all), ordered by tenant and ID. Each page is a separate snapshot. */
export async function* readUsers(
  pool: Pool,
  pageSize: number,
  tenants: readonly number[] | null,
): AsyncGenerator<StoredUser[]> {
  if (tenants === null) yield* pages(pageSize, readAfter(pool, pageSize));
  else for (const tenantNo of tenants) yield* pages(pageSize, readOfTenant(pool, tenantNo, pageSize));
}

type Read = (after: { tenantNo: number; id: string }) => Promise<StoredUser[]>;

const readAfter =
  (pool: Pool, pageSize: number): Read =>
  async ({ tenantNo, id }) => {
    const { rows } = await pool.query<StoredUser>({
      name: 'rebuild-users',
      text: `SELECT tenant_no AS "tenantNo", id, state FROM users
              WHERE (tenant_no, id) > ($1, $2) ORDER BY tenant_no, id LIMIT $3`,
      values: [tenantNo, id, pageSize],
    });
    return rows;
  };

const readOfTenant =
  (pool: Pool, tenantNo: number, pageSize: number): Read =>
  async ({ id }) => {
    const { rows } = await pool.query<StoredUser>({
      name: 'rebuild-users-of-tenant',
      text: `SELECT tenant_no AS "tenantNo", id, state FROM users
              WHERE tenant_no = $1 AND id > $2 ORDER BY id LIMIT $3`,
      values: [tenantNo, id, pageSize],
    });
    return rows;
  };

async function* pages(pageSize: number, read: Read): AsyncGenerator<StoredUser[]> {
  let page = await read({ tenantNo: -1, id: '' });
  while (page.length > 0) {
    // Read the next page while this one is processed.
    const next = page.length < pageSize ? Promise.resolve([]) : read(page.at(-1)!);
    next.catch(() => undefined);
    yield page;
    page = await next;
  }
}

/** Estimated number of rows in a table with all its partitions, for reporting progress. */
export async function estimateRows(pool: Pool, table: 'users' | 'used_keys'): Promise<number> {
  const { rows } = await pool.query<{ estimate: number }>(
    `SELECT ceil(sum(greatest(reltuples, 0)))::float8 AS estimate FROM pg_class
      WHERE oid = $1::regclass OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = $1::regclass)`,
    [table],
  );
  return rows[0]?.estimate ?? 0;
}

interface NamedUser {
  tenantNo: number;
  id: string;
}

export async function missingUsers(pool: Pool, users: readonly NamedUser[]): Promise<NamedUser[]> {
  if (users.length === 0) return [];
  const { rows } = await pool.query<NamedUser>(
    `SELECT tenant_no AS "tenantNo", id FROM unnest($1::int[], $2::text[]) AS named (tenant_no, id)
      WHERE NOT EXISTS (SELECT FROM users WHERE users.tenant_no = named.tenant_no AND users.id = named.id)`,
    [users.map(({ tenantNo }) => tenantNo), users.map(({ id }) => id)],
  );
  return rows;
}

/** The points of some users by number of the points system, as listed beside their states; `undefined` for unknown users. */
export async function storedPoints(
  pool: Pool,
  users: readonly NamedUser[],
): Promise<(Record<string, number> | undefined)[]> {
  if (users.length === 0) return [];
  const { rows } = await pool.query<{ nth: number; points: Record<string, number> }>(
    `SELECT nth::int, points FROM unnest($1::int[], $2::text[]) WITH ORDINALITY AS named (tenant_no, id, nth)
       JOIN users USING (tenant_no, id)`,
    [users.map(({ tenantNo }) => tenantNo), users.map(({ id }) => storableText(id))],
  );
  const points: (Record<string, number> | undefined)[] = users.map(() => undefined);
  for (const row of rows) points[row.nth - 1] = row.points;
  return points;
}

/** Numbers of the tenants with a part on some shards, including archived ones. */
export async function tenantsOfShards(pool: Pool, shards: readonly number[]): Promise<number[]> {
  const { rows } = await pool.query<{ no: number }>(
    `SELECT DISTINCT no FROM tenants, ${PARTS} WHERE part.shard = ANY ($1) ORDER BY no`,
    [shards],
  );
  return rows.map(({ no }) => no);
}

/** A tenant, or those of its users that one of its parts holds. */
export interface Share {
  tenantNo: number;
  /** Number of the tenant's parts, and which of them; 1 and 0: all users. */
  spread: number;
  index: number;
}

/** Whether a part holds a user; the rule of `partIndex` (src/redis/parts.ts). `id`: expression; `$2`, `$3`: spread and index. */
export const ofPart = (id: string): string =>
  `($2::int = 1 OR get_byte(sha256(convert_to(${id}, 'UTF8')), 0) % $2::int = $3::int)`;

export async function countUsersIn(client: Pool | PoolClient, { tenantNo, spread, index }: Share): Promise<number> {
  const { rows } = await client.query<{ n: number }>(
    `SELECT count(*) AS n FROM users WHERE tenant_no = $1 AND ${ofPart('id')}`,
    [tenantNo, spread, index],
  );
  return rows[0]?.n ?? 0;
}

/** Number of users who completed an achievement. */
export async function countCompletions(
  pool: Pool,
  { tenantNo, spread, index }: Share,
  achievementNo: number,
): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `SELECT count(DISTINCT user_id) AS n FROM completions WHERE tenant_no = $1 AND achievement_no = $4 AND ${ofPart('user_id')}`,
    [tenantNo, spread, index, achievementNo],
  );
  return rows[0]?.n ?? 0;
}

/** Number of users who completed each achievement, by its number. Reads all of the tenant's completions. */
export async function completionCounts(pool: Pool, { tenantNo, spread, index }: Share): Promise<Map<number, number>> {
  const { rows } = await pool.query<{ no: number; users: number }>(
    `SELECT achievement_no AS no, count(DISTINCT user_id)::float8 AS users FROM completions
      WHERE tenant_no = $1 AND ${ofPart('user_id')} GROUP BY 1`,
    [tenantNo, spread, index],
  );
  return new Map(rows.map(({ no, users }) => [no, users]));
}

/** Number of users per total (above 0) in a points system. Reads all of the tenant's users. */
export async function pointsTotals(
  pool: Pool,
  { tenantNo, spread, index }: Share,
  systemNo: number,
): Promise<{ total: number; users: number }[]> {
  const { rows } = await pool.query<{ total: string; users: string }>(
    `SELECT (points->>$4::text)::bigint AS total, count(*) AS users
       FROM users
      WHERE tenant_no = $1 AND (points->>$4::text)::bigint > 0 AND ${ofPart('id')}
      GROUP BY 1`,
    [tenantNo, spread, index, String(systemNo)],
  );
  return rows.map(({ total, users }) => ({ total: Number(total), users: Number(users) }));
}

/** Runs of a tenant's leaderboards whose sorted sets were removed from Redis: leaderboard number → first days. */
export async function clearedRuns(pool: Pool, tenantNo: number): Promise<Map<number, Set<number>>> {
  const { rows } = await pool.query<{ boardNo: number; runDays: number[] }>(
    `SELECT board_no AS "boardNo", array_agg(run_day) AS "runDays" FROM board_runs
      WHERE tenant_no = $1 AND is_cleared GROUP BY board_no`,
    [tenantNo],
  );
  return new Map(rows.map(({ boardNo, runDays }) => [boardNo, new Set(runDays)]));
}

/** Whether any user of a tenant has a time zone, and an e-mail address. */
export interface KnownProfiles {
  zone: boolean;
  email: boolean;
}

/** Reads one entry of an index for each. */
export async function knownProfiles(pool: Pool, tenantNo: number): Promise<KnownProfiles> {
  const { rows } = await pool.query<KnownProfiles>(
    `SELECT EXISTS (SELECT FROM users WHERE tenant_no = $1 AND zone > '') AS zone,
            EXISTS (SELECT FROM users WHERE tenant_no = $1 AND email_key IS NOT NULL) AS email`,
    [tenantNo],
  );
  return rows[0]!;
}
