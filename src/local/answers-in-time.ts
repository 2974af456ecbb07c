import pg from 'pg';
import type { GuardedProcess } from './guarded-process.ts';

/** What Postgres refuses connections with while it starts: after a crash it first reads the WAL since the last checkpoint. */
const CANNOT_CONNECT_NOW = '57P03';
const TRIED_AFTER_MS = 50;

/**
 * Waits until a Postgres takes a query, for as long as it says that it starts: stopped meanwhile, it would have to read everything once more.
 * False if it ended instead, or gave no sign of life for `silenceMs`.
 */
export async function answersInTime(
  url: string,
  { server, silenceMs }: { server: GuardedProcess; silenceMs: number },
): Promise<boolean> {
  let ended = false;
  void server.exited.then(() => (ended = true));
  for (let heardMs = Date.now(); !ended && Date.now() - heardMs < silenceMs;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('SELECT 1');
      return true;
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === CANNOT_CONNECT_NOW) heardMs = Date.now();
      await new Promise((resolve) => setTimeout(resolve, TRIED_AFTER_MS));
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return false;
}
