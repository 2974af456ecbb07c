import type { Catalogs } from '../../catalog/catalogs.ts';
import { MESSAGE_KINDS, type MessageKind } from '../../domain/notifications/message-variables.ts';
import { AppError } from '../../errors.ts';
import type { UserProfiles } from '../users/user-profiles.ts';
import type { SeenMessages } from './seen-messages.ts';
import type { UnsubscribeLinks } from './unsubscribe-links.ts';

export interface UnsubscribeOptions {
  links: UnsubscribeLinks;
  catalogs: Pick<Catalogs, 'of'>;
  profiles: Pick<UserProfiles, 'preferences' | 'updatePreferences'>;
  /** Whether the tenant is active. */
  isTenant: (tenantNo: number) => boolean;
  seen: Pick<SeenMessages, 'note'>;
}

export interface Unsubscribing {
  /** The kind of e-mail that a link ends, and the tenant; `null` if nobody signed the link. */
  read(token: string): { tenantNo: number; kind: MessageKind } | null;
  /**
   * Ends the e-mails of the link's kind to its user, whose other preferences stay. Idempotent; does nothing for a link that is
   * not valid, and for a user who was deleted. Throws 503 while Redis is away.
   */
  unsubscribe(token: string): Promise<void>;
}

/** Unsubscribing by links in e-mails, without a login. */
export function createUnsubscribing({ links, catalogs, profiles, isTenant, seen }: UnsubscribeOptions): Unsubscribing {
  return {
    read: (token) => links.read(token),
    async unsubscribe(token) {
      const link = links.read(token);
      if (link === null || !isTenant(link.tenantNo)) return;
      await endEmails({ catalogs, profiles }, { ...link, kinds: [link.kind] });
      const { tenantNo, messageId } = link;
      if (messageId !== null) seen.note('unsubscribed', { tenantNo, id: messageId });
    },
  };
}

/**
 * Ends e-mails of some kinds, or of all (`null`), to a user, whose other preferences stay. Idempotent; does nothing for a user who
 * was deleted. Throws 503 while Redis is away.
 */
export async function endEmails(
  { catalogs, profiles }: Pick<UnsubscribeOptions, 'catalogs' | 'profiles'>,
  { tenantNo, userId, kinds }: { tenantNo: number; userId: string; kinds: readonly MessageKind[] | null },
): Promise<void> {
  try {
    const compiled = await catalogs.of(tenantNo);
    const { notifications } = await profiles.preferences(compiled, userId);
    const ended = (kinds ?? MESSAGE_KINDS).flatMap((kind) => {
      const channels = notifications[kind] ?? [];
      return channels.includes('email') ? [[kind, channels.filter((channel) => channel !== 'email')] as const] : [];
    });
    if (ended.length === 0) return;
    await profiles.updatePreferences(compiled, userId, { notifications: Object.fromEntries(ended) });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
  }
}
