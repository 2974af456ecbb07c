import type { Pool, PoolClient } from 'pg';
import { isUnanswered } from './outage.ts';

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. A connection on which
 * even the rollback fails is closed, never given back to the pool.
 */
export async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // Without a listener an error of a connection that is in use would end the process.
  const onError = (error: Error): void => void (broken = error);
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // A statement that got no answer in time still runs: what follows on this connection would wait for it too.
    if (isUnanswered(error)) broken = error;
    else await client.query('ROLLBACK').catch((failure: Error) => void (broken = failure));
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}
