import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool, PoolClient } from 'pg';
import { PACKAGE_ROOT } from '../package-root.ts';

const FOLDER = join(PACKAGE_ROOT, 'src', 'postgres', 'migrations');
const LOCK = 0x6c61_7572; // 'laur'

interface Migration {
  no: number;
  file: string;
}

/** The database cannot be migrated to this version. The message is shown to the operator. */
export class MigrationError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'MigrationError';
  }
}

/**
 * Applies the numbered SQL files that the database does not have yet, in order, each in its own transaction. Idempotent. If
 * several processes start at once, one migrates and the others wait. Returns the names of the files applied now. Throws
 * `MigrationError` if a newer version has migrated the database, or if a file fails.
 * @param folder folder of the files; Laurel's own by default
 */
export async function migrate(pool: Pool, folder: string = FOLDER): Promise<string[]> {
  const migrations = await migrationsIn(folder);
  const client = await pool.connect();
  // Without a listener, a broken connection would end the process. The pending query rejects anyway.
  const onError = (): void => undefined;
  client.on('error', onError);
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
    await client.query(
      `CREATE TABLE IF NOT EXISTS laurel_migrations (
         no integer PRIMARY KEY, file text NOT NULL, applied timestamptz NOT NULL DEFAULT now())`,
    );
    const { rows } = await client.query<{ no: number; file: string }>(
      'SELECT no, file FROM laurel_migrations ORDER BY no',
    );
    const newest = migrations.at(-1)?.no ?? 0;
    const newer = rows.find(({ no }) => no > newest);
    if (newer !== undefined) {
      throw new MigrationError(
        `The database was migrated by a newer version of Laurel: it has ${newer.file}, but this version ends with number ${newest}. ` +
          'Start the newer version, or use another database.',
      );
    }
    const applied = new Set(rows.map(({ no }) => no));
    const missing = migrations.filter(({ no }) => !applied.has(no));
    for (const migration of missing) await apply(client, folder, migration);
    return missing.map(({ file }) => file);
  } finally {
    // Closing the connection also releases the lock.
    const unlocked = await client.query('SELECT pg_advisory_unlock($1)', [LOCK]).catch((error: Error) => error);
    client.off('error', onError);
    client.release(unlocked instanceof Error ? unlocked : undefined);
  }
}

/** Whether all migrations of this version are applied. False for an empty database. Throws errors of Postgres. */
export async function isMigrated(pool: Pool): Promise<boolean> {
  const known = await pool.query<{ any: boolean }>(`SELECT to_regclass('laurel_migrations') IS NOT NULL AS any`);
  if (known.rows[0]?.any !== true) return false;
  const newest = (await migrationsIn(FOLDER)).at(-1)?.no ?? 0;
  const { rows } = await pool.query<{ ready: boolean }>(
    'SELECT EXISTS (SELECT FROM laurel_migrations WHERE no = $1) AS ready',
    [newest],
  );
  return rows[0]?.ready ?? false;
}

async function migrationsIn(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => /^\d{6}_\w+\.sql$/.test(file)).sort();
  return files.map((file) => ({ no: Number(file.slice(0, 6)), file }));
}

async function apply(client: PoolClient, folder: string, { no, file }: Migration): Promise<void> {
  const sql = await readFile(join(folder, file), 'utf8');
  try {
    await client.query('BEGIN');
    await client.query(sql);
    await client.query('INSERT INTO laurel_migrations (no, file) VALUES ($1, $2)', [no, file]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw new MigrationError(
      `The migration ${file} failed: ${error instanceof Error ? error.message : String(error)}`,
      error,
    );
  }
}
