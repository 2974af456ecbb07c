import type { Pool } from 'pg';
import type { PostgresState } from '../domain/system.ts';

const READ = `
  SELECT current_setting('server_version') AS version,
         pg_database_size(current_database())::float8 AS "databaseBytes",
         pg_size_bytes(current_setting('shared_buffers'))::float8 AS "sharedBuffersBytes",
         (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
         current_setting('max_connections')::int AS "maxConnections"`;

/** The server's version, size and limits. The size of the database is that of its files, which takes some milliseconds to compute. */
export async function postgresState(pool: Pool): Promise<PostgresState> {
  return (await pool.query<PostgresState>(READ)).rows[0]!;
}
