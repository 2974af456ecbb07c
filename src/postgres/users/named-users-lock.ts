import type { PoolClient } from 'pg';

/** Of a pair of numbers that Postgres locks, the first: the second is the tenant. */
const LOCK = 0x6e61_6d65; // 'name'

/**
 * For a transaction that stores users whom it read from Redis: called before it reads them, it keeps deletions of the tenant's users
 * (`beforeDeletion`) from Postgres until it ends. Else one that came in between would leave the user in what is stored.
 */
export async function beforeNaming(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock_shared($1, $2)', [LOCK, tenantNo]);
}

/**
 * For a transaction that deletes a user who is gone from Redis: waits for those that may have read the user there, so that it
 * finds what they stored. Those that begin later wait for its end.
 */
export async function beforeDeletion(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1, $2)', [LOCK, tenantNo]);
}
