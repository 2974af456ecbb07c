import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuid } from 'uuid';
import type { Author } from '../../domain/author.ts';
import { NOTIFICATION_EXAMPLES } from '../../domain/notification-examples.ts';
import type { NotificationType } from '../../domain/notification.ts';
import { AppError } from '../../errors.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import { transaction } from '../../postgres/transaction.ts';
import { insertMessages } from '../../postgres/webhooks/messages.ts';
import { markTest, readDelivery, type WholeDeliveryRow } from '../../postgres/webhooks/deliveries.ts';
import { mustBeEnabled, type OwnWebhook, type WebhookDeliveriesOptions } from './webhook-deliveries.ts';

/** How long an answer waits for the first try: most receivers have answered by then. */
const WAIT_MS = 5_000;
const LOOK_MS = 50;

/**
 * Sends a webhook the example of a type, whether it wants the type or not: a message in its log like any other, signed and
 * guarded as any other, but marked as a test and about no user. Resolves with it after its first try, or after 5 seconds with
 * what is known then. 422 for a webhook that is disabled.
 */
export async function sendTest(
  { pool, clock, onQueued }: WebhookDeliveriesOptions,
  { tenantNo, webhook }: OwnWebhook,
  { type, by, waitMs = WAIT_MS }: { type: NotificationType; by: Author; waitMs?: number },
): Promise<WholeDeliveryRow> {
  mustBeEnabled(webhook);
  const nowMs = clock.now();
  const message = {
    id: uuid(),
    webhookId: webhook.id,
    tenantNo,
    type,
    userId: null,
    atMs: nowMs,
    payload: JSON.stringify(NOTIFICATION_EXAMPLES[type]),
  };
  await transaction(pool, async (client) => {
    await insertMessages(client, [message], nowMs);
    await markTest(client, message.id);
    const entries = [{ action: 'test', kind: 'webhook', id: webhook.id, name: webhook.name, after: { type } } as const];
    await writeAudit(client, { tenantNo, nowMs, by, entries });
  });
  onQueued();
  const untilMs = performance.now() + waitMs;
  for (;;) {
    const row = await readDelivery(pool, { webhookId: webhook.id, id: message.id });
    if (row === null) throw new AppError('not_found', 'The webhook was deleted meanwhile');
    if (row.tries > 0 || row.status !== 'pending' || performance.now() >= untilMs) return row;
    await sleep(LOOK_MS);
  }
}
