import type { Pool, PoolClient } from 'pg';
import { codeOf } from '../network-errors.ts';
import { transaction } from './transaction.ts';

const CANCELLED = '57014';

/**
 * Reads in a transaction whose statements are limited to `timeoutMs`. Returns `null` if Postgres cancelled one. For answers that are complete enough
 * without the result.
 */
export async function within<T>(
  pool: Pool,
  timeoutMs: number,
  work: (client: PoolClient) => Promise<T>,
): Promise<T | null> {
  try {
    return await transaction(pool, async (client) => {
      await client.query(`SET LOCAL statement_timeout = ${timeoutMs}`);
      return work(client);
    });
  } catch (error) {
    if (error instanceof Error && codeOf(error) === CANCELLED) return null;
    throw error;
  }
}
