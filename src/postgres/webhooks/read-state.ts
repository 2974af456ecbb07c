import type { Pool } from 'pg';

/** A webhook's status. */
export interface WebhookStateRow {
  waiting: number;
  oldest: Date | null;
  /** Whether the queue is full. */
  full: boolean;
  /** Failed tries since the last successful one, and the time of the first. */
  failures: number;
  failingSince: Date | null;
  /** When the circuit breaker closes (real time); `null` if it is closed. */
  pausedUntil: Date | null;
  /** Why and when Laurel disabled it; `null` if it is enabled, or an administrator disabled it. */
  disabledReason: string | null;
  disabledAt: Date | null;
}

/** A webhook's status. A webhook without any message is healthy. Reads the index of its queue. */
export async function readWebhookState(
  pool: Pool,
  { webhookId, enabled }: { webhookId: string; enabled: boolean },
): Promise<WebhookStateRow> {
  const { rows } = await pool.query<WebhookStateRow>(
    `SELECT waiting, oldest, coalesce(is_full, false) AS full, coalesce(failures, 0) AS failures,
            failing_since AS "failingSince",
            CASE WHEN open_until > clock_timestamp() THEN open_until END AS "pausedUntil",
            CASE WHEN NOT $2 THEN disabled_reason END AS "disabledReason",
            CASE WHEN NOT $2 THEN disabled_at END AS "disabledAt"
       FROM (SELECT count(*)::int AS waiting, min(created) AS oldest FROM webhook_queue WHERE webhook_id = $1) AS queued
       LEFT JOIN webhook_state ON webhook_id = $1`,
    [webhookId, enabled],
  );
  return rows[0]!;
}
