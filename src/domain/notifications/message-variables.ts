/** The variables of message templates: which ones a kind of e-mail has, and their values in a notification. */
import type { NotificationType } from './notification.ts';
import type { NotificationPreferences } from './preferences.ts';

/** Kinds of e-mails, as users' preferences name them. */
export type MessageKind = keyof NotificationPreferences;

/** The notification that makes an e-mail of each kind due. */
export const TYPE_OF_KIND = {
  streak_reminder: 'emails.streak_reminder_due',
  achievement_completed: 'emails.achievement_due',
  reactivation: 'emails.reactivation_due',
  recap: 'emails.recap_due',
} as const satisfies Record<MessageKind, NotificationType>;

/** The kind of e-mail that a notification of each type makes due. */
export const KIND_OF_TYPE: ReadonlyMap<NotificationType, MessageKind> = new Map(
  (Object.entries(TYPE_OF_KIND) as [MessageKind, NotificationType][]).map(([kind, type]) => [type, kind]),
);

export const MESSAGE_KINDS = Object.keys(TYPE_OF_KIND) as readonly MessageKind[];

const OF_USER = ['user.id', 'user.name', 'user.tz'] as const;

/** Variables whose value is a whole URL. Only they may begin a link. */
export const URL_VARIABLES: ReadonlySet<string> = new Set(['unsubscribeUrl', 'achievement.badgeUrl']);

/** The variables of each kind, besides those of the user. Names are paths in the notification's payload. */
const OF_KIND: Readonly<Record<MessageKind, readonly string[]>> = {
  streak_reminder: ['streak.length', 'streak.frequency', 'streak.started', 'streak.expires', 'streak.freezes'],
  achievement_completed: ['achievement.name', 'achievement.description', 'achievement.badgeUrl'],
  reactivation: ['reactivation.messageNumber', 'reactivation.daysSinceLastActive'],
  recap: ['recap.periodStart', 'recap.periodEnd'],
};

const ATTRIBUTE = 'user.attributes.';

/** Key of the user attribute that a variable shows; `null` if it shows something else. */
export const attributeOf = (name: string): string | null =>
  name.startsWith(ATTRIBUTE) ? name.slice(ATTRIBUTE.length) : null;

/** Whether a template of a kind may use a variable. `attributeKeys`: keys of the tenant's user attributes. */
export const isVariable = (name: string, kind: MessageKind, attributeKeys: ReadonlySet<string>): boolean =>
  name === 'unsubscribeUrl' ||
  (OF_USER as readonly string[]).includes(name) ||
  OF_KIND[kind].includes(name) ||
  (name.startsWith(ATTRIBUTE) && attributeKeys.has(name.slice(ATTRIBUTE.length)));

/** What a template is rendered with: a notification's payload, and the link that ends the e-mails of this kind. */
export interface MessageFigures {
  payload: Readonly<Record<string, unknown>>;
  unsubscribeUrl: string;
}

/** The value of a variable as text; `''` if it has none. An attribute's key may contain dots. */
export function valueOf(name: string, { payload, unsubscribeUrl }: MessageFigures): string {
  if (name === 'unsubscribeUrl') return unsubscribeUrl;
  const path = name.startsWith(ATTRIBUTE) ? ['user', 'attributes', name.slice(ATTRIBUTE.length)] : name.split('.');
  let value: unknown = payload;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return '';
    value = (value as Record<string, unknown>)[step];
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** The form in which locales are compared: `pt_br` and `pt-BR` are the same. */
export const comparableLocale = (locale: string): string => locale.trim().replaceAll('_', '-').toLowerCase();
