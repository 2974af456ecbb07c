import type { PoolClient } from 'pg';

/** Marks a message in the log as a test, in the transaction that creates it. */
export async function markTest(client: PoolClient, id: string): Promise<void> {
  await client.query('UPDATE webhook_messages SET test = true WHERE id = $1', [id]);
}
