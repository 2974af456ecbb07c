import type { Pool } from 'pg';

/** A webhook leased by the process that sends to it. */
export interface LeasedWebhook {
  webhookId: string;
  tenantNo: number;
  /** Failed tries since the last successful one. */
  failures: number;
  /** Time of the first of them (epoch ms, Laurel's clock); `null` if there are none. */
  failingSinceMs: number | null;
}

/** Webhooks to which Laurel may send: existing and enabled, of an active tenant. */
export const SENDABLE = `
  webhook_state AS state
  JOIN catalog_resources AS resource ON resource.id = state.webhook_id
   AND resource.deleted IS NULL AND (resource.doc ->> 'enabled')::boolean
  JOIN organisation ON multi_tenancy = (state.tenant_no > 0)`;

/**
 * Leases up to `most` webhooks that have due messages and no holder. A webhook has one holder at a time. If the holder dies, its lease ends after
 * `leaseMs` of the server's time.
 * @param nowMs the time of Laurel's clock
 */
export async function leaseWebhooks(
  pool: Pool,
  { holder, nowMs, leaseMs, most }: { holder: string; nowMs: number; leaseMs: number; most: number },
): Promise<LeasedWebhook[]> {
  const { rows } = await pool.query<LeasedWebhook>(
    `UPDATE webhook_state AS leased SET holder = $1, held_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000)
      WHERE webhook_id = ANY (ARRAY(
              SELECT state.webhook_id FROM ${SENDABLE}
               WHERE (state.holder IS NULL OR state.held_until < clock_timestamp())
                 AND (state.open_until IS NULL OR state.open_until <= clock_timestamp())
                 AND EXISTS (SELECT FROM webhook_queue AS queued
                              WHERE queued.webhook_id = state.webhook_id AND queued.due_ms <= $2)
               LIMIT $4 FOR UPDATE OF state SKIP LOCKED))
    RETURNING webhook_id AS "webhookId", tenant_no AS "tenantNo", failures,
              (extract(epoch FROM failing_since) * 1000)::float8 AS "failingSinceMs"`,
    [holder, nowMs, leaseMs, most],
  );
  return rows;
}

/** Extends a process's leases to `leaseMs` from now. Returns the webhooks that it still holds. */
export async function renewLeases(pool: Pool, holder: string, leaseMs: number): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>(
    `UPDATE webhook_state SET held_until = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
      WHERE holder = $1 RETURNING webhook_id AS id`,
    [holder, leaseMs],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Releases leases. */
export async function releaseLeases(pool: Pool, holder: string, webhookIds: readonly string[]): Promise<void> {
  await pool.query(
    'UPDATE webhook_state SET holder = NULL, held_until = NULL WHERE holder = $1 AND webhook_id = ANY ($2::uuid[])',
    [holder, webhookIds],
  );
}
