import type { Pool } from 'pg';

const TABLES = ['outbox_cursors', 'events', 'users', 'awards', 'completions', 'used_keys'];

/** Saves the events in Postgres; the returned function restores them, like a standby that takes over with older data. */
export async function backUp(pool: Pool): Promise<() => Promise<void>> {
  const { rows } = await pool.query<{ name: string }>('SELECT tablename AS name FROM pg_tables');
  const present = new Set(rows.map(({ name }) => name));
  const tables = TABLES.filter((name) => present.has(name));
  for (const table of tables) await pool.query(`CREATE TABLE kept_${table} AS TABLE ${table}`);
  return async () => {
    // One transaction: a backup is of one moment.
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(`TRUNCATE ${tables.join(', ')} CASCADE`);
      for (const table of tables)
        await client.query(`INSERT INTO ${table} OVERRIDING SYSTEM VALUE TABLE kept_${table}`);
      await client.query('COMMIT');
    } finally {
      client.release();
    }
  };
}
