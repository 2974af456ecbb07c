import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Webhook } from '../../domain/catalog.ts';
import type { NewMessage, Notification, NotificationSubject, NotificationType } from '../../domain/notification.ts';
import { messageId } from './message-id.ts';

/** Who is to hear of a tenant's notifications, by one version of its catalog. */
export interface Listeners {
  /** No enabled webhook is there. */
  readonly none: boolean;
  /** Whether an enabled webhook wants notifications of a type; with a subject: those about it. */
  wants(type: NotificationType, about?: NotificationSubject): boolean;
  /** A message for each enabled webhook that wants the notification, oldest webhook first. */
  messagesFor(notification: Notification): NewMessage[];
}

const known = new WeakMap<CompiledCatalog, Listeners>();

/** The listeners of a tenant: made once for each version of its catalog. */
export function listenersOf(compiled: CompiledCatalog): Listeners {
  let listeners = known.get(compiled);
  if (listeners === undefined) known.set(compiled, (listeners = listenersAmong(compiled.catalog.webhooks)));
  return listeners;
}

function listenersAmong(webhooks: readonly Webhook[]): Listeners {
  const byType = new Map<NotificationType, Webhook[]>();
  for (const webhook of webhooks) {
    if (!webhook.enabled) continue;
    for (const type of webhook.events) byType.set(type, [...(byType.get(type) ?? []), webhook]);
  }
  const wanting = (type: NotificationType, about: NotificationSubject): Webhook[] =>
    byType.get(type)?.filter((webhook) => passes(webhook, about)) ?? [];
  return {
    none: byType.size === 0,
    wants: (type, about) => (about === undefined ? byType.has(type) : wanting(type, about).length > 0),
    messagesFor: ({ type, tenantNo, userId, atMs, source, about, payload }) =>
      wanting(type, about).map(({ id: webhookId }) => ({
        id: messageId({ webhookId, type, source }),
        webhookId,
        tenantNo,
        type,
        userId,
        atMs,
        payload,
      })),
  };
}

/** Whether a webhook's filter lets a subject pass: it holds back what is about another resource of a kind that it names. */
function passes({ filter }: Webhook, about: NotificationSubject): boolean {
  const among = (ids: string[] | undefined, id: string | undefined): boolean =>
    ids === undefined || id === undefined || ids.includes(id);
  return (
    among(filter?.metricIds, about.metricId) &&
    among(filter?.leaderboardIds, about.leaderboardId) &&
    among(filter?.pointsSystemIds, about.pointsSystemId)
  );
}
