import { type Static, Type } from 'typebox';
import { Nullable, Uuid } from '../schemas.ts';
import { UserId } from '../user.ts';

export const WEBHOOK_EVENTS = [
  'achievement.completed',
  'streak.started',
  'streak.extended',
  'streak.lost',
  'streak.freeze_consumed',
  'streak.freeze_earned',
  'points.changed',
  'points.level_changed',
  'points.spent',
  'points.refunded',
  'points.expiring',
  'points.expired',
  'points.boost_started',
  'points.boost_finished',
  'reward.claimed',
  'reward.fulfilled',
  'reward.cancelled',
  'leaderboard.started',
  'leaderboard.changed',
  'leaderboard.finished',
  'leaderboard.rank_changed',
  'leaderboard.rewarded',
  'leaderboard.tier_changed',
  'user.merged',
  'emails.recap_due',
  'emails.reactivation_due',
  'emails.streak_reminder_due',
  'emails.achievement_due',
] as const;

/** A header's name (RFC 9110, token). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
/** Names that have another meaning for HTTP, a proxy or Laurel; `x-laurel-signature` is the default name. */
const TAKEN_HEADER =
  /^(?:accept(?:-.*)?|age|allow|alt-svc|authorization|cache-control|connection|content-.*|cookie2?|date|expect|expires|forwarded|from|host|http2-settings|if-.*|keep-alive|max-forwards|origin|pragma|priority|proxy-.*|range|referer|sec-.*|server|set-cookie2?|te|trailer|transfer-encoding|upgrade|user-agent|via|warning|webhook-.*|x-forwarded-.*|x-real-ip)$/i;

/** The problem of a name for the header of the simple signature; `null` if the name is allowed. The console uses it, too. */
export function signatureHeaderProblem(name: string): string | null {
  if (!TOKEN.test(name)) return "must be the name of an HTTP header: at most 64 letters, digits and !#$%&'*+-.^_`|~";
  return TAKEN_HEADER.test(name) ? `'${name}' has another meaning: choose another name` : null;
}

const DateTime = Type.String({ format: 'date-time' });

const DeliveryStatus = Type.Enum(['pending', 'delivered', 'failed']);

const WebhookType = Type.Enum([...WEBHOOK_EVENTS]);

export const WebhookDelivery = Type.Object({
  /** The `webhook-id` of every try. */
  id: Uuid,
  type: WebhookType,
  userId: Nullable(Type.String()),
  sequence: Type.Integer(),
  status: DeliveryStatus,
  test: Type.Boolean(),
  tries: Type.Integer(),
  /** HTTP status of the last try; `null` before the first try or if there was no answer. */
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

export const ShownWebhookDelivery = Type.Object({
  ...WebhookDelivery.properties,
  payload: Type.Unknown(),
  attempts: Type.Array(DeliveryAttempt),
});
export type ShownWebhookDelivery = Static<typeof ShownWebhookDelivery>;

/** A page of the log, newest first. `nextCursor` is `null` on the last page. */
export const WebhookDeliveries = Type.Object({
  deliveries: Type.Array(WebhookDelivery),
  nextCursor: Nullable(Type.String()),
});
export type WebhookDeliveries = Static<typeof WebhookDeliveries>;

/** Filters of the log. `from` and `to` apply to the time when a message was created. */
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

/** Which messages to send again. */
export const ResendRequest = Type.Object({
  status: Type.Optional(Type.Enum(['failed', 'delivered'])),
  types: Type.Optional(Type.Array(WebhookType, { minItems: 1, uniqueItems: true })),
  from: Type.Optional(DateTime),
  to: Type.Optional(DateTime),
});
export type ResendRequest = Static<typeof ResendRequest>;

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

/** A webhook's status: pending messages, and the reason if Laurel does not send them. */
export const WebhookState = Type.Object({
  waiting: Type.Integer(),
  /** When the oldest pending message was created. */
  oldest: Nullable(DateTime),
  full: Type.Boolean(),
  failures: Type.Integer(),
  failingSince: Nullable(DateTime),
  pausedUntil: Nullable(DateTime),
  disabledReason: Nullable(Type.String()),
  disabledAt: Nullable(DateTime),
});
