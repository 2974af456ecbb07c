import type { Pool } from 'pg';
import { SENDABLE } from './leases.ts';

/** When something falls due that is not due now. */
export interface Upcoming {
  /** A message that is to be sent again: epoch ms of Laurel's clock; null: none. */
  dueMs: number | null;
  /** A webhook that has something due may be taken: its breaker lets a try through, and the lease of another has ended. ms from now; null: none. */
  freeInMs: number | null;
}

/**
 * What comes next, for a holder of leases, of all webhooks that may be sent to. One probe of an index for each webhook.
 * @param now.nowMs the time of Laurel's clock
 */
export async function upcoming(pool: Pool, { holder, nowMs }: { holder: string; nowMs: number }): Promise<Upcoming> {
  const { rows } = await pool.query<Upcoming>(
    `SELECT min(next.due_ms) FILTER (WHERE next.due_ms > $1) AS "dueMs",
            (extract(epoch FROM min(free.at) FILTER (WHERE free.at > clock_timestamp() AND next.due_ms <= $1)
                                - clock_timestamp()) * 1000)::float8 AS "freeInMs"
       FROM ${SENDABLE}
      CROSS JOIN LATERAL (
              SELECT greatest(open_until, CASE WHEN state.holder <> $2 THEN held_until END) AS at) AS free
      CROSS JOIN LATERAL (
              (SELECT due_ms FROM webhook_queue AS queued
                WHERE queued.webhook_id = state.webhook_id ORDER BY due_ms LIMIT 1)
              UNION ALL
              (SELECT due_ms FROM webhook_queue AS queued
                WHERE queued.webhook_id = state.webhook_id AND due_ms > $1 ORDER BY due_ms LIMIT 1)) AS next`,
    [nowMs, holder],
  );
  return rows[0]!;
}
