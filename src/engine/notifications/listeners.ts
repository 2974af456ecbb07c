import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { isWanted } from '../../catalog/wanted.ts';
import type { Webhook } from '../../domain/catalog.ts';
import type { NewMessage, Notification, NotificationSubject, NotificationType } from '../../domain/notification.ts';
import { messageId } from './message-id.ts';
import type { Wants } from './rules/change.ts';

/** Who is to hear of a tenant's notifications, by one version of its catalog. */
export interface Listeners {
  /** No enabled webhook is there. */
  readonly none: boolean;
  /** Whether an enabled webhook wants notifications of a type; with a subject: those about it. */
  readonly wants: Wants;
  /** A message for each enabled webhook that wants the notification, oldest webhook first. */
  readonly messagesFor: (notification: Notification) => NewMessage[];
}

const known = new WeakMap<CompiledCatalog, Listeners>();

/** The listeners of a tenant: made once for each version of its catalog. */
export function listenersOf(compiled: CompiledCatalog): Listeners {
  let listeners = known.get(compiled);
  if (listeners === undefined) known.set(compiled, (listeners = listenersAmong(compiled.catalog.webhooks)));
  return listeners;
}

function listenersAmong(webhooks: readonly Webhook[]): Listeners {
  const types = new Set(webhooks.flatMap(({ enabled, events }) => (enabled ? events : [])));
  const wanting = (type: NotificationType, about: NotificationSubject): Webhook[] =>
    types.has(type) ? webhooks.filter((webhook) => isWanted(webhook, type, about)) : [];
  return {
    none: types.size === 0,
    wants: (type, about) => (about === undefined ? types.has(type) : wanting(type, about).length > 0),
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
