import type { PoolClient } from 'pg';

/** Marks a message of the log as a test; in the transaction that makes it. */
export async function markTest(client: PoolClient, id: string): Promise<void> {
  await client.query('UPDATE webhook_messages SET test = true WHERE id = $1', [id]);
}
