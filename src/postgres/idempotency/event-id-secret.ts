import type { Pool } from 'pg';

/** What the IDs of events with an idempotency key are made with: 32 bytes, the same for ever. Never to be logged. */
export async function readEventIdSecret(pool: Pool): Promise<Buffer> {
  const { rows } = await pool.query<{ secret: Buffer }>('SELECT secret FROM event_id_secret');
  return rows[0]!.secret;
}
