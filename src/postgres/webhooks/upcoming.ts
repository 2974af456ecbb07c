import type { Pool } from 'pg';
import { SENDABLE } from './leases.ts';

/** When the next work is due that is not due yet. */
export interface Upcoming {
  /** Next retry of a message (epoch ms, Laurel's clock), or `null`. */
  dueMs: number | null;
  /** When a webhook with due messages becomes available because its breaker or another process's lease ends, in ms from now, or `null`. */
  freeInMs: number | null;
}

/**
 * The next work for a holder of leases, over all webhooks to which Laurel may send. One index probe per webhook.
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
