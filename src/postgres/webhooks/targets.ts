import type { Pool } from 'pg';
import { signingSecrets, type SigningSecrets } from '../webhook-secrets.ts';
import { SENDABLE } from './leases.ts';

/** Where a webhook's messages are sent, and the secrets that sign them. */
export interface WebhookTarget extends SigningSecrets {
  webhookId: string;
  name: string;
  url: string;
  /** Name of the signature header that uses the whole secret; `undefined` for the default. */
  header: string | undefined;
}

/**
 * The current targets of those webhooks to which Laurel may send.
 * @param nowMs the time of Laurel's clock
 */
export async function webhookTargets(
  pool: Pool,
  webhookIds: readonly string[],
  nowMs: number,
): Promise<Map<string, WebhookTarget>> {
  const { rows } = await pool.query<{ webhookId: string; name: string; url: string; header: string | null }>(
    `SELECT state.webhook_id AS "webhookId", doc ->> 'name' AS name, doc ->> 'url' AS url, doc ->> 'header' AS header
       FROM ${SENDABLE} WHERE state.webhook_id = ANY ($1::uuid[])`,
    [webhookIds],
  );
  const secrets = await signingSecrets(pool, webhookIds, nowMs);
  const targets = new Map<string, WebhookTarget>();
  for (const { header, ...row } of rows) {
    const signing = secrets.get(row.webhookId);
    // Nothing may be sent without a signature.
    if (signing !== undefined) targets.set(row.webhookId, { ...row, header: header ?? undefined, ...signing });
  }
  return targets;
}
