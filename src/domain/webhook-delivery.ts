import { Type, type Static } from 'typebox';
import { Nullable, Uuid } from './schemas.ts';
import { UserId } from './user.ts';
import { WEBHOOK_EVENTS } from './webhook.ts';

/** What the log of a webhook holds, as it is asked for and answered. */

const DateTime = Type.String({ format: 'date-time' });

export const DeliveryStatus = Type.Enum(['pending', 'delivered', 'failed']);

const WebhookType = Type.Enum([...WEBHOOK_EVENTS]);

/** A message in the log of a webhook. */
export const WebhookDelivery = Type.Object({
  /** The `webhook-id` of every try. */
  id: Uuid,
  type: WebhookType,
  userId: Nullable(Type.String()),
  sequence: Type.Integer(),
  status: DeliveryStatus,
  test: Type.Boolean(),
  tries: Type.Integer(),
  /** Status of the last try's answer; null: no try, or no answer. */
  lastStatus: Nullable(Type.Integer()),
  reason: Nullable(Type.String()),
  at: DateTime,
  created: DateTime,
  nextTry: Nullable(DateTime),
  finished: Nullable(DateTime),
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;

const DeliveryAttempt = Type.Object({
  at: DateTime,
  durationMs: Type.Integer(),
  status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  answer: Nullable(Type.String()),
});

/** A message with what it says and all its tries, oldest first. */
export const ShownWebhookDelivery = Type.Object({
  ...WebhookDelivery.properties,
  payload: Type.Unknown(),
  attempts: Type.Array(DeliveryAttempt),
});
export type ShownWebhookDelivery = Static<typeof ShownWebhookDelivery>;

/** A page of the log, newest first; `nextCursor` leads to the next, null: this is the last. */
export const WebhookDeliveries = Type.Object({
  deliveries: Type.Array(WebhookDelivery),
  nextCursor: Nullable(Type.String()),
});
export type WebhookDeliveries = Static<typeof WebhookDeliveries>;

/** Which messages of the log are asked for; `from` and `to`: when they were made. */
export const DeliveryQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  cursor: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })),
  status: Type.Optional(DeliveryStatus),
  type: Type.Optional(WebhookType),
  userId: Type.Optional(UserId),
  from: Type.Optional(DateTime),
  to: Type.Optional(DateTime),
});
export type DeliveryQuery = Static<typeof DeliveryQuery>;

/** Which messages of the log are to be sent again. */
export const ResendRequest = Type.Object({
  status: Type.Optional(Type.Enum(['failed', 'delivered'])),
  types: Type.Optional(Type.Array(WebhookType, { minItems: 1, uniqueItems: true })),
  from: Type.Optional(DateTime),
  to: Type.Optional(DateTime),
});
export type ResendRequest = Static<typeof ResendRequest>;

/** A resend, and how far it is. */
export const WebhookResend = Type.Object({
  id: Uuid,
  status: Type.Enum(['failed', 'delivered']),
  types: Nullable(Type.Array(WebhookType)),
  from: Nullable(DateTime),
  to: Nullable(DateTime),
  resent: Type.Integer(),
  total: Nullable(Type.Integer()),
  requested: DateTime,
  finished: Nullable(DateTime),
});
export type WebhookResend = Static<typeof WebhookResend>;

/** How a webhook fares: what waits for it, and why nothing is sent, where that is so. */
export const WebhookState = Type.Object({
  waiting: Type.Integer(),
  /** When the oldest that waits was made. */
  oldest: Nullable(DateTime),
  full: Type.Boolean(),
  failures: Type.Integer(),
  failingSince: Nullable(DateTime),
  pausedUntil: Nullable(DateTime),
  disabledReason: Nullable(Type.String()),
  disabledAt: Nullable(DateTime),
});
export type WebhookState = Static<typeof WebhookState>;
