import type { Pool } from 'pg';
import { SENDABLE } from './leases.ts';

/**
 * Notes of every webhook whether `limit` messages wait for it, or more: then no more are queued (`insertMessages`). Reads
 * the index of what waits.
 */
export async function noteFullQueues(pool: Pool, limit: number): Promise<void> {
  await pool.query(
    `UPDATE webhook_state AS state SET is_full = measured.is_full
       FROM (SELECT webhook_id, EXISTS (SELECT FROM (
                      SELECT FROM webhook_queue AS queued WHERE queued.webhook_id = known.webhook_id
                       LIMIT 1 OFFSET $1) AS beyond) AS is_full
               FROM webhook_state AS known) AS measured
      WHERE measured.webhook_id = state.webhook_id AND state.is_full <> measured.is_full`,
    [limit - 1],
  );
}

/** What waits for webhooks that may be sent to. */
export interface WaitingMessages {
  count: number;
  /** How long the oldest has waited since it was made, ms of Laurel's clock; 0: none waits. */
  oldestMs: number;
}

/** Counts what waits. Reads all of it. */
export async function waitingMessages(pool: Pool, nowMs: number): Promise<WaitingMessages> {
  const { rows } = await pool.query<{ count: number; created: number | null }>(
    `SELECT count(*) AS count, (extract(epoch FROM min(queued.created)) * 1000)::float8 AS created
       FROM webhook_queue AS queued WHERE queued.webhook_id IN (SELECT state.webhook_id FROM ${SENDABLE})`,
  );
  const { count, created } = rows[0]!;
  return { count, oldestMs: created === null ? 0 : Math.max(0, nowMs - created) };
}
