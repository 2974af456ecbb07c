import type { Pool } from 'pg';

/** The secret (32 bytes, permanent) from which IDs of events with an idempotency key are derived. Must never be logged. */
export async function readEventIdSecret(pool: Pool): Promise<Buffer> {
  const { rows } = await pool.query<{ secret: Buffer }>('SELECT secret FROM event_id_secret');
  return rows[0]!.secret;
}
