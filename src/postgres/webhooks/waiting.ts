import type { Pool } from 'pg';
import { SENDABLE } from './leases.ts';

/** Records for every webhook whether at least `limit` messages wait for it; then no more are queued (`insertMessages`). Reads the index of the queue. */
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

/** Messages that wait for webhooks to which Laurel may send. */
export interface WaitingMessages {
  count: number;
  /** Age of the oldest message, ms by Laurel's clock; 0 if none waits. */
  oldestMs: number;
}

/** Counts the waiting messages. Reads all of them. */
export async function waitingMessages(pool: Pool, nowMs: number): Promise<WaitingMessages> {
  const { rows } = await pool.query<{ count: number; created: number | null }>(
    `SELECT count(*) AS count, (extract(epoch FROM min(queued.created)) * 1000)::float8 AS created
       FROM webhook_queue AS queued WHERE queued.webhook_id IN (SELECT state.webhook_id FROM ${SENDABLE})`,
  );
  const { count, created } = rows[0]!;
  return { count, oldestMs: created === null ? 0 : Math.max(0, nowMs - created) };
}
