import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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
 * The schema of 1.0, and the number and name under which it was recorded at first. Earlier commits number their migrations
 * up to 57 and therefore considered that schema an old one of theirs. Above 57, they refuse to start instead of changing it.
 */
const SCHEMA = { file: '000100_schema.sql', former: { no: 1, file: '000001_schema.sql' } };

/**
 * Applies the numbered SQL files that the database does not have yet, in order, each in its own transaction. Idempotent. If
 * several processes start at once, one migrates and the others wait. Returns the names of the files applied now. Throws
 * `MigrationError`, before it changes anything, if the database has migrations that this version does not have; and if a
 * file fails.
 * @param folder folder of the files; Laurel's own by default
 */
export async function migrate(pool: Pool, folder: string = FOLDER): Promise<string[]> {
  const own = await migrationsIn(folder);
  const client = await pool.connect();
  // Without a listener, a broken connection would end the process. The pending query rejects anyway.
  const onError = (): void => undefined;
  client.on('error', onError);
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
    const recorded = await recordedIn(client);
    const { missing, renumbers } = compared(recorded, own);
    if (renumbers) await renumber(client, own);
    for (const migration of missing) await apply(client, folder, migration);
    return missing.map(({ file }) => file);
  } finally {
    // Closing the connection also releases the lock.
    const unlocked = await client.query('SELECT pg_advisory_unlock($1)', [LOCK]).catch((error: Error) => error);
    client.off('error', onError);
    client.release(unlocked instanceof Error ? unlocked : undefined);
  }
}

/**
 * Whether the database has exactly the migrations of this version. False if it is empty or lacks some, which `migrate`
 * applies. Throws `MigrationError` if it has others, and errors of Postgres.
 */
export async function isMigrated(pool: Pool): Promise<boolean> {
  const { missing, renumbers } = compared(await recordedIn(pool), await migrationsIn(FOLDER));
  return missing.length === 0 && !renumbers;
}

/** Interval at which the database is compared while it is not of this version, ms. */
const POLL_MS = 1_000;

/**
 * Waits until another process has migrated the database to this version, or until `ended`. Postgres may be away
 * meanwhile. `onWait` is called now and then while it waits. Throws `MigrationError` if the database has other migrations.
 */
export async function waitForMigrations(pool: Pool, ended: AbortSignal, onWait: () => void): Promise<void> {
  for (let attempt = 0; !ended.aborted; attempt++) {
    if (await isMigrated(pool).catch(unlessOther)) return;
    if (attempt % 10 === 0) onWait();
    await sleep(POLL_MS, undefined, { signal: ended }).catch(() => undefined);
  }
}

/** Postgres may be away for a while, but another version's schema stays. */
function unlessOther(error: unknown): false {
  if (error instanceof MigrationError) throw error;
  return false;
}

/** The migrations that the database has, by number. */
async function recordedIn(client: Pool | PoolClient): Promise<Migration[]> {
  const known = await client.query<{ any: boolean }>(`SELECT to_regclass('laurel_migrations') IS NOT NULL AS any`);
  if (known.rows[0]?.any !== true) return [];
  return (await client.query<Migration>('SELECT no, file FROM laurel_migrations ORDER BY no')).rows;
}

/** Compares a database with this version. Throws `MigrationError` if the database has other migrations. */
function compared(
  recorded: readonly Migration[],
  own: readonly Migration[],
): { missing: Migration[]; renumbers: boolean } {
  const { former } = SCHEMA;
  const schema = own.find(({ file }) => file === SCHEMA.file);
  const renumbers = schema !== undefined && recorded.some(({ no, file }) => no === former.no && file === former.file);
  const effective = recorded.map((one) => (renumbers && one.no === former.no ? schema : one));
  const names = new Map(own.map(({ no, file }) => [no, file]));
  const [first, newest] = [own[0]?.no ?? 0, own.at(-1)?.no ?? 0];
  const unknown = effective.filter(({ no, file }) => names.get(no) !== file);
  const foreign = unknown.find(({ no }) => no >= first && no <= newest);
  if (foreign !== undefined)
    throw new MigrationError(
      `The database was migrated by a foreign version of Laurel, neither older nor newer: it has ${foreign.file}, which this ` +
        'version does not have. Start the version to which it belongs, or use another database.',
    );
  const older = unknown.find(({ no }) => no < first);
  if (older !== undefined)
    throw new MigrationError(
      `The database was migrated by an older version of Laurel that cannot be upgraded: it has ${older.file}, but this ` +
        `version begins with number ${first}. Restore a backup without it, or use another database.`,
    );
  const newer = unknown[0];
  if (newer !== undefined)
    throw new MigrationError(
      `The database was migrated by a newer version of Laurel: it has ${newer.file}, but this version ends with number ${newest}. ` +
        'Start the newer version, or use another database.',
    );
  const applied = new Set(effective.map(({ no }) => no));
  return { missing: own.filter(({ no }) => !applied.has(no)), renumbers };
}

async function renumber(client: PoolClient, own: readonly Migration[]): Promise<void> {
  const { no, file } = own.find((one) => one.file === SCHEMA.file)!;
  await client.query('UPDATE laurel_migrations SET no = $1, file = $2 WHERE no = $3', [no, file, SCHEMA.former.no]);
}

async function migrationsIn(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => /^\d{6}_\w+\.sql$/.test(file)).sort();
  return files.map((file) => ({ no: Number(file.slice(0, 6)), file }));
}

async function apply(client: PoolClient, folder: string, { no, file }: Migration): Promise<void> {
  const sql = await readFile(join(folder, file), 'utf8');
  try {
    await client.query('BEGIN');
    await client.query(
      `CREATE TABLE IF NOT EXISTS laurel_migrations (
         no integer PRIMARY KEY, file text NOT NULL, applied timestamptz NOT NULL DEFAULT now())`,
    );
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
