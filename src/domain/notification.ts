import type { WEBHOOK_EVENTS } from './webhook.ts';

/** What a notification can be about. */
export type NotificationType = (typeof WEBHOOK_EVENTS)[number];

/** What the filters of a webhook go by: IDs of the resources that a notification is about. */
export interface NotificationSubject {
  metricId?: string;
  leaderboardId?: string;
  pointsSystemId?: string;
}

/** A run (its first day, an epoch day) and group ('' without breakdown) of a board. */
export interface BoardPlace {
  boardNo: number;
  runDay: number;
  group: string;
}

/** Something that happened in a tenant, or fell due, as it is reported to webhooks and live streams. */
export interface Notification {
  type: NotificationType;
  tenantNo: number;
  /** The user that it is about; null: no single one. */
  userId: string | null;
  /** When it happened or fell due, epoch ms. */
  atMs: number;
  /** Unlike that of any other of the tenant and type, ever; the same when the notification is made again. */
  source: string;
  about: NotificationSubject;
  /** Of a board's rankings and ranks: where they changed, or ended. */
  place?: BoardPlace;
  /** JSON text of the contract's payload, with its `type`. */
  payload: string;
}

/** A notification for one webhook, before it is stored. */
export interface NewMessage {
  /** UUID, the `webhook-id` of every try: the same when the message is made again. */
  id: string;
  webhookId: string;
  tenantNo: number;
  type: NotificationType;
  userId: string | null;
  /** Epoch ms. */
  atMs: number;
  payload: string;
}
