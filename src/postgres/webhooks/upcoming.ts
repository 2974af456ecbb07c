import type { Pool } from 'pg';
import { SENDABLE } from './leases.ts';

/** When something falls due that is not due now. */
export interface Upcoming {
  /** A message that is to be sent again: epoch ms of Laurel's clock; null: none. */
  dueMs: number | null;
  /** A breaker that lets a try through: ms from now; null: none. */
  openForMs: number | null;
}

/**
 * What comes next of all webhooks that may be sent to. One probe of an index for each webhook.
 * @param nowMs the time of Laurel's clock
 */
export async function upcoming(pool: Pool, nowMs: number): Promise<Upcoming> {
  const { rows } = await pool.query<Upcoming>(
    `SELECT min(next.due_ms) FILTER (WHERE next.due_ms > $1) AS "dueMs",
            (extract(epoch FROM min(state.open_until) FILTER (WHERE state.open_until > clock_timestamp() AND next.due_ms <= $1)
                                - clock_timestamp()) * 1000)::float8 AS "openForMs"
       FROM ${SENDABLE}
      CROSS JOIN LATERAL (
              (SELECT due_ms FROM webhook_queue AS queued
                WHERE queued.webhook_id = state.webhook_id ORDER BY due_ms LIMIT 1)
              UNION ALL
              (SELECT due_ms FROM webhook_queue AS queued
                WHERE queued.webhook_id = state.webhook_id AND due_ms > $1 ORDER BY due_ms LIMIT 1)) AS next`,
    [nowMs],
  );
  return rows[0]!;
}
