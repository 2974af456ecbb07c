import type { Pool } from 'pg';

/** How a webhook fares. */
export interface WebhookStateRow {
  waiting: number;
  oldest: Date | null;
  /** As much waits as may. */
  full: boolean;
  /** Failed tries since the last one that succeeded, and since when. */
  failures: number;
  failingSince: Date | null;
  /** Real time until which the breaker is open; null: it is not. */
  pausedUntil: Date | null;
  /** Why Laurel disabled it, and when; null: it is enabled, or an administrator disabled it. */
  disabledReason: string | null;
  disabledAt: Date | null;
}

/** How a webhook fares. One that never had a message fares well. Reads the index of what waits for it. */
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
