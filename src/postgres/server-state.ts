import type { Pool } from 'pg';
import { systemClock } from '../clock.ts';
import type { PostgresState } from '../domain/administration/system.ts';

const READ = `
  SELECT current_setting('server_version') AS version,
         pg_database_size(current_database())::float8 AS "databaseBytes",
         pg_size_bytes(current_setting('shared_buffers'))::float8 AS "sharedBuffersBytes",
         (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
         current_setting('max_connections')::int AS "maxConnections"`;

/** Settings that Laurel relies on, or recommends (docs/operating/install.md). */
const SETTINGS = `
  SELECT name, setting, unit FROM pg_settings
   WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'wal_compression', 'max_wal_size', 'checkpoint_timeout')`;

/** Some settings of the server, as Postgres shows them; the locale of the database as `locale`. */
export async function postgresSettings(pool: Pool): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ name: string; setting: string; unit: string | null }>(SETTINGS);
  const locale = await pool.query<{ locale: string }>(
    'SELECT datcollate AS locale FROM pg_database WHERE datname = current_database()',
  );
  return new Map([...rows.map(({ name, setting }) => [name, setting] as const), ['locale', locale.rows[0]!.locale]]);
}

/** How far a server's clock is behind this machine's, ms. Precise to half the round trip. */
export async function postgresClockSkewMs(pool: Pool): Promise<number> {
  const sentMs = systemClock.now();
  const { rows } = await pool.query<{ ms: number }>(
    'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
  );
  return (sentMs + systemClock.now()) / 2 - rows[0]!.ms;
}

/**
 * Bytes that the server's databases and, if Laurel's role may see it (`pg_monitor`), its write-ahead log take. Leaves out
 * databases to which the role cannot connect. Reads the size of each file, so it takes some milliseconds.
 */
export async function postgresUsedBytes(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ bytes: number; seesWal: boolean }>(
    `SELECT sum(pg_database_size(oid))::float8 AS bytes, has_function_privilege('pg_ls_waldir()', 'EXECUTE') AS "seesWal"
       FROM pg_database WHERE has_database_privilege(oid, 'CONNECT')`,
  );
  const { bytes, seesWal } = rows[0]!;
  if (!seesWal) return bytes;
  const wal = await pool.query<{ bytes: number }>('SELECT sum(size)::float8 AS bytes FROM pg_ls_waldir()');
  return bytes + wal.rows[0]!.bytes;
}

/** A size changes slowly. */
const KEPT_MS = 60_000;

/**
 * Measures how much of a disk of this size is left to Postgres, at most once a minute. Rejects while Postgres does not answer.
 * Leaves out what `postgresUsedBytes` does.
 */
export function postgresDisk(pool: Pool, diskBytes: number) {
  let kept = { usedBytes: 0, untilMs: -Infinity };
  return async () => {
    if (performance.now() >= kept.untilMs)
      kept = { usedBytes: await postgresUsedBytes(pool), untilMs: performance.now() + KEPT_MS };
    const { usedBytes } = kept;
    return { freeBytes: Math.max(0, diskBytes - usedBytes), usedRatio: usedBytes / diskBytes, isPostgresOnly: true };
  };
}

/** The server's version, size and limits. The size takes some milliseconds to compute. */
export async function postgresState(pool: Pool): Promise<PostgresState> {
  return (await pool.query<PostgresState>(READ)).rows[0]!;
}
