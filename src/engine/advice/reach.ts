import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Finding } from '../../domain/administration/advice.ts';
import type { KnownProfiles } from '../../postgres/users/stored-states.ts';

/** Whether messages reach users, and days end when the users' days do. */
export interface Reach {
  compiled: CompiledCatalog;
  /** The number of users. */
  users: number;
  known: KnownProfiles;
}

/** With fewer users, these may be the first tests of an integration. */
const LEAST_USERS = 20;

export function usersWithoutZone({ users, known }: Reach): Finding | null {
  if (users < LEAST_USERS || known.zone) return null;
  return {
    text: `None of ${users.toLocaleString('en')} users has a time zone: all their days end at midnight UTC.`,
    advice: 'Send tz with events, so that streaks and daily goals end at the users’ midnight.',
    screen: '/users',
  };
}

export function emailsWithoutAddresses({ compiled: { catalog }, users, known }: Reach): Finding | null {
  if (users < LEAST_USERS || known.email || catalog.messages.templates.length === 0) return null;
  return {
    text: `There are templates of e-mails, but none of ${users.toLocaleString('en')} users has an address.`,
    advice: 'Send email with the users’ profiles.',
    screen: '/users',
  };
}

/** Templates of messages that are never due, because what they are about is switched off. */
export function messagesNeverDue({ compiled: { catalog } }: Reach): Finding | null {
  const { templates, pushTemplates } = catalog.messages;
  const kinds = new Set([...templates, ...pushTemplates].map(({ kind }) => kind));
  if (kinds.has('streak_reminder') && !catalog.streaks.enabled)
    return {
      text: 'There are templates of streak reminders, but streaks are switched off.',
      advice: 'Enable streaks, or delete the templates.',
      screen: '/streaks',
    };
  if (kinds.has('achievement_completed') && !catalog.achievements.some(({ status }) => status === 'active'))
    return {
      text: 'There are templates about completed achievements, but no achievement is active.',
      advice: 'Create or activate one, or delete the templates.',
      screen: '/achievements',
    };
  return null;
}
