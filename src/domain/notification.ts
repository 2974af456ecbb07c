import type { WEBHOOK_EVENTS } from './webhook.ts';

/** Types of notifications; the same as those of webhooks. */
export type NotificationType = (typeof WEBHOOK_EVENTS)[number];

/** IDs of the resources that a notification is about. Webhook filters compare them. */
export interface NotificationSubject {
  metricId?: string;
  leaderboardId?: string;
  pointsSystemId?: string;
}

/** A leaderboard run (first day, epoch day) and group (`''` without a breakdown). */
export interface BoardPlace {
  boardNo: number;
  runDay: number;
  group: string;
}

/** Something that happened or fell due in a tenant. Webhooks and live streams report it. */
export interface Notification {
  type: NotificationType;
  tenantNo: number;
  /** The user concerned; `null` if it is not about a single user. */
  userId: string | null;
  /** When it happened or fell due, epoch ms. */
  atMs: number;
  /** Unique within tenant and type. Creating the notification again produces the same value. */
  source: string;
  about: NotificationSubject;
  /** For rankings and ranks: where they changed or ended. */
  place?: BoardPlace;
  /** The contract's payload as JSON text, including `type`. */
  payload: string;
}

/** A notification for one webhook, before it is stored. */
export interface NewMessage {
  /** The `webhook-id` of every try (UUID). Creating the message again produces the same ID. */
  id: string;
  webhookId: string;
  tenantNo: number;
  type: NotificationType;
  userId: string | null;
  /** Epoch ms. */
  atMs: number;
  payload: string;
}
