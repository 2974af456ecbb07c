import type { Pool } from 'pg';

/**
 * A table with what users did, and which of its columns name the user, hold IDs that are the user's own (UUIDs, made anew for each
 * clone), and stay empty: keys of idempotency are looked up elsewhere.
 */
interface ClonedTable {
  table: string;
  user: string;
  ids: readonly string[];
  empty: readonly string[];
}

const TABLES: readonly ClonedTable[] = [
  { table: 'users', user: 'id', ids: [], empty: [] },
  { table: 'events', user: 'user_id', ids: ['id'], empty: ['idempotency_key'] },
  { table: 'awards', user: 'user_id', ids: ['id'], empty: [] },
  { table: 'completions', user: 'user_id', ids: ['caused_by'], empty: [] },
  { table: 'streak_changes', user: 'user_id', ids: [], empty: [] },
];
const USERS_A_STATEMENT = 20_000;

/** The time, the version and what else is at the beginning stay, and the ordinal of an award at the end: between is the clone's number. */
const CLONED_ID = (id: string): string =>
  `(left(replace(${id}::text, '-', ''), 20) || lpad(to_hex(n), 8, '0') || right(${id}::text, 4))::uuid`;

/**
 * Makes users `user-<originals>` to `user-<users - 1>` in Postgres, each with the state and the history of one of the first
 * `originals`, whose IDs are made up of their numbers. Rows are stored in the order of time. Redis has to be rebuilt after it.
 */
export async function cloneUsers(
  pool: Pool,
  {
    originals,
    users,
    onProgress = () => undefined,
  }: { originals: number; users: number; onProgress?: (users: number) => void },
): Promise<void> {
  const statements = await Promise.all(TABLES.map((table) => cloning(pool, table)));
  for (let from = originals; from < users; from += USERS_A_STATEMENT) {
    const until = Math.min(from + USERS_A_STATEMENT, users);
    await Promise.all(statements.map((statement) => pool.query(statement, [from, until - 1, originals])));
    onProgress(until);
  }
  await pool.query('VACUUM ANALYZE');
}

async function cloning(pool: Pool, { table, user, ids, empty }: ClonedTable): Promise<string> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = $1 AND is_identity = 'NO' AND is_generated = 'NEVER'`,
    [table],
  );
  const names = rows.map(({ name }) => name).filter((name) => !empty.includes(name));
  const values = names.map((name) => {
    if (name === user) return `'user-' || n`;
    return ids.includes(name) ? CLONED_ID(`original.${name}`) : `original.${name}`;
  });
  const order = ids.includes('id') ? 'ORDER BY original.id' : '';
  return `
    INSERT INTO ${table} (${names.join(', ')})
    SELECT ${values.join(', ')}
      FROM generate_series($1::int, $2::int) AS n
      JOIN ${table} AS original ON original.tenant_no = 0 AND original.${user} = 'user-' || (n % $3::int) ${order}`;
}
