import type { Resources } from '../../catalog/resources.ts';
import { noteDisabled } from '../../postgres/webhooks/leases.ts';
import { GIVEN_UP_AFTER_MS } from './health.ts';
import type { DisableReason } from './tries.ts';

/** Who disabled it, for the audit log, and why, for whoever looks at the webhook. */
const REASONS: Readonly<Record<DisableReason, { who: string; text: string }>> = {
  gone: { who: 'webhook delivery (410 Gone)', text: 'the receiver answered 410: it is gone' },
  failing: { who: 'webhook delivery (failing)', text: 'every try failed for 5 days' },
};

export interface DisabledWebhook {
  tenantNo: number;
  webhookId: string;
  /** Where the tries went. */
  url: string;
}

/**
 * Disables a webhook by an edit of the catalog, which the audit log shows; whether it did. One that was disabled, deleted or
 * given another URL meanwhile stays as it is, and so does one that has only been failing since somebody edited it: the five
 * days begin again.
 */
export async function disableWebhook(
  resources: Pick<Resources, 'edit'>,
  { tenantNo, webhookId, url }: DisabledWebhook,
  reason: DisableReason,
): Promise<boolean> {
  const { who, text } = REASONS[reason];
  const { changes } = await resources.edit(tenantNo, { who }, async (draft, client) => {
    const webhook = draft.get('webhook', webhookId);
    if (webhook?.enabled !== true || webhook.url !== url) return;
    if (reason === 'failing' && draft.nowMs - webhook.updated < GIVEN_UP_AFTER_MS) return;
    draft.update('webhook', webhookId, { ...webhook, enabled: false });
    await noteDisabled(client, { webhookId, reason: text, nowMs: draft.nowMs });
  });
  return changes.length > 0;
}
