import type { NotificationType } from '../../../../domain/notification.ts';
import type { ShownWebhookDelivery, WebhookDelivery } from '../../../../domain/webhook-delivery.ts';
import type { DeliveryRow, WholeDeliveryRow } from '../../../../postgres/webhooks/read-deliveries.ts';

/** A message of the log as it is answered. */
export const deliveryAnswer = (row: DeliveryRow): WebhookDelivery => ({
  id: row.id,
  type: row.type as NotificationType,
  userId: row.userId,
  sequence: row.sequence,
  status: row.status,
  test: row.test,
  tries: row.tries,
  lastStatus: row.lastStatus,
  reason: row.reason,
  at: row.at.toISOString(),
  created: row.created.toISOString(),
  nextTry: row.nextTryMs === null ? null : new Date(row.nextTryMs).toISOString(),
  finished: row.finished?.toISOString() ?? null,
});

/** The same with its payload and its tries. */
export const shownDelivery = (row: WholeDeliveryRow): ShownWebhookDelivery => ({
  ...deliveryAnswer(row),
  payload: JSON.parse(row.payload),
  attempts: row.attempts.map(({ at, durationMs, status, error, answer }) => ({
    at: new Date(at).toISOString(),
    durationMs,
    status,
    error,
    answer,
  })),
});
