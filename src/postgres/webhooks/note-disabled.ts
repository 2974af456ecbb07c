import type { PoolClient } from 'pg';

/** Records that Laurel disabled a webhook, and why. Resets its failures for when it is enabled again. */
export async function noteDisabled(
  client: PoolClient,
  { webhookId, reason, nowMs }: { webhookId: string; reason: string; nowMs: number },
): Promise<void> {
  await client.query(
    `UPDATE webhook_state SET disabled_reason = $2, disabled_at = to_timestamp($3::float8 / 1000),
            failures = 0, failing_since = NULL, open_until = NULL
      WHERE webhook_id = $1`,
    [webhookId, reason, nowMs],
  );
}
