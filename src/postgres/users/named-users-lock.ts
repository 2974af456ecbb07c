import type { PoolClient } from 'pg';

/** First number of the advisory lock; the second is the tenant. */
const LOCK = 0x6e61_6d65; // 'name'

/**
 * For a transaction that stores users that it reads from Redis. Call it before the read: deletions of the tenant's users (`beforeDeletion`) then wait
 * until the transaction ends. Otherwise, the transaction could store a user who was deleted in between.
 */
export async function beforeNaming(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock_shared($1, $2)', [LOCK, tenantNo]);
}

/**
 * For a transaction that deletes a user who has left Redis. Waits for transactions that may have read the user there, so that it finds what they
 * stored. Later ones wait for this transaction.
 */
export async function beforeDeletion(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1, $2)', [LOCK, tenantNo]);
}
