import type { Webhook } from '../domain/catalog.ts';
import type { NotificationSubject, NotificationType } from '../domain/notification.ts';

/**
 * Whether a webhook is to hear of notifications of a type: of those about a subject, after its filter, or, without one, of
 * any of them. A filter holds back what is about another resource of a kind that it names.
 */
export const isWanted = (webhook: Webhook, type: NotificationType, about?: NotificationSubject): boolean =>
  webhook.enabled && webhook.events.includes(type) && (about === undefined || passes(webhook, about));

function passes({ filter }: Webhook, about: NotificationSubject): boolean {
  const among = (ids: string[] | undefined, id: string | undefined): boolean =>
    ids === undefined || id === undefined || ids.includes(id);
  return (
    among(filter?.metricIds, about.metricId) &&
    among(filter?.leaderboardIds, about.leaderboardId) &&
    among(filter?.pointsSystemIds, about.pointsSystemId)
  );
}
