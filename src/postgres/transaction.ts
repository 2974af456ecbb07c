import type { Pool, PoolClient } from 'pg';
import { isUnanswered } from './outage.ts';

/**
 * Runs `work` in one transaction: commits if it resolves, rolls back if it rejects. If even the rollback fails, closes the connection instead of
 * returning it to the pool.
 */
export async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // Without a listener, an error on a connection in use would end the process.
  const onError = (error: Error): void => void (broken = error);
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // A statement that timed out is still running, and later statements on this connection would wait for it.
    if (isUnanswered(error)) broken = error;
    else await client.query('ROLLBACK').catch((failure: Error) => void (broken = failure));
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

/** Runs read-only `work` in one snapshot: all of its statements see the same state of the database. */
export const inSnapshot = <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  transaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    return work(client);
  });
