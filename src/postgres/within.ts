import type { Pool, PoolClient } from 'pg';
import { codeOf } from '../network-errors.ts';
import { transaction } from './transaction.ts';

const CANCELLED = '57014';

/**
 * Reads in a transaction of which no statement may take longer than `timeoutMs`; null: one did, and Postgres stopped it. For
 * answers that may also be given without it.
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
