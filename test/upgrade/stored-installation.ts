import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { migrate } from '../../src/postgres/migrate.ts';
import { keysOf } from '../stack/all-servers.ts';

/**
 * Everything that an installation has stored, and some of its answers then. Made by `STORE=<version> npx vitest run
 * test/upgrade`.
 */
export interface StoredInstallation {
  adminKey: string;
  /** The migration files of its database. */
  migrations: string[];
  /** Rows by table, each a JSON object; columns that a later migration adds have their defaults. */
  tables: Record<string, string[]>;
  /** The last values of sequences by name. */
  sequences: Record<string, number>;
  /** Keys of Redis: payload of DUMP (base64), and the remaining time to live (ms), 0 for ever. */
  keys: [name: string, dump: string, ttlMs: number][];
  answers: StoredAnswer[];
}

export interface StoredAnswer {
  surface: 'app' | 'admin';
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  status: number;
  answer: unknown;
}

const PARTITIONED = ['events', 'awards', 'used_keys'];
const TABLES = `
  SELECT c.relname AS name FROM pg_class c
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
     AND c.relname <> 'laurel_migrations'
   ORDER BY c.relname`;

/** Reads an installation that nothing writes to. */
export async function readInstallation(
  pool: Pool,
  redis: Redis,
): Promise<Omit<StoredInstallation, 'adminKey' | 'answers'>> {
  const tables: StoredInstallation['tables'] = {};
  for (const name of await namesOf(pool, TABLES)) {
    // As text: JSON.parse would round bigint and numeric.
    const { rows } = await pool.query<{ row: string }>(`SELECT to_jsonb(t)::text AS row FROM ${name} t`);
    if (rows.length > 0) tables[name] = rows.map(({ row }) => row);
  }
  const { rows: sequences } = await pool.query<{ name: string; last: string }>(
    'SELECT sequencename AS name, last_value AS last FROM pg_sequences WHERE last_value IS NOT NULL',
  );
  const keys: StoredInstallation['keys'] = [];
  for (const name of await keysOf(redis, '*')) {
    const [dump, ttlMs] = await Promise.all([redis.dumpBuffer(name), redis.pttl(name)]);
    if (dump !== null) keys.push([name, dump.toString('base64'), Math.max(ttlMs, 0)]);
  }
  return {
    migrations: await namesOf(pool, 'SELECT file AS name FROM laurel_migrations ORDER BY no'),
    tables,
    sequences: Object.fromEntries(sequences.map(({ name, last }) => [name, Number(last)])),
    keys,
  };
}

/**
 * Restores a stored installation into an empty database and an empty Redis, with exactly the migrations that it had.
 * @param folder contains exactly those migrations
 */
export async function restoreInstallation(
  { migrations, tables, sequences, keys }: StoredInstallation,
  { pool, redis, folder }: { pool: Pool; redis: Redis; folder: string },
): Promise<void> {
  const applied = await migrate(pool, folder);
  if (applied.join() !== migrations.join())
    throw new Error(`Applied ${applied.join()} instead of ${migrations.join()}`);
  const client = await pool.connect();
  try {
    // Does not check references between rows.
    await client.query("SET session_replication_role = 'replica'");
    await client.query(`TRUNCATE ${(await namesOf(pool, TABLES)).join()}`);
    await makePartitions(
      client,
      (tables['event_partitions'] ?? []).map((row) => JSON.parse(row) as Stretch),
    );
    for (const [name, rows] of Object.entries(tables)) {
      await client.query(
        `INSERT INTO ${name} OVERRIDING SYSTEM VALUE
         SELECT r.* FROM unnest($1::jsonb[]) AS row, jsonb_populate_record(NULL::${name}, row) AS r`,
        [rows],
      );
    }
    for (const [name, last] of Object.entries(sequences)) await client.query('SELECT setval($1, $2)', [name, last]);
  } finally {
    client.release(true);
  }
  for (const [name, dump, ttlMs] of keys) await redis.restore(name, ttlMs, Buffer.from(dump, 'base64'));
}

interface Stretch {
  first_day: number;
  end_day: number;
  end_id: string;
}

/** The partitions that the installation had, instead of those that the schema makes on the day of its first start. */
async function makePartitions(client: { query: Pool['query'] }, stretches: readonly Stretch[]): Promise<void> {
  const ordered = stretches.toSorted((one, other) => one.first_day - other.first_day);
  for (const table of PARTITIONED) {
    const { rows } = await client.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits
        WHERE inhparent = $1::regclass AND inhrelid::regclass::text <> $2`,
      [table, `${table}_default`],
    );
    for (const { name } of rows) await client.query(`DROP TABLE ${name}`);
    for (const [index, { first_day: firstDay, end_id: endId }] of ordered.entries()) {
      const from = index === 0 ? 'MINVALUE' : `'${ordered[index - 1]!.end_id}'`;
      await client.query(
        `CREATE TABLE ${table}_d${firstDay} PARTITION OF ${table} FOR VALUES FROM (${from}) TO ('${endId}')`,
      );
    }
  }
}

async function namesOf(pool: Pool, query: string): Promise<string[]> {
  return (await pool.query<{ name: string }>(query)).rows.map(({ name }) => name);
}
