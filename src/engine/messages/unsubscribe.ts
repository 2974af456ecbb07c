import type { Catalogs } from '../../catalog/catalogs.ts';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import { AppError } from '../../errors.ts';
import type { UserProfiles } from '../users/user-profiles.ts';
import type { UnsubscribeLinks, Unsubscription } from './unsubscribe-links.ts';

export interface UnsubscribeOptions {
  links: UnsubscribeLinks;
  catalogs: Pick<Catalogs, 'of'>;
  profiles: Pick<UserProfiles, 'preferences' | 'updatePreferences'>;
  /** Whether the tenant is active. */
  isTenant: (tenantNo: number) => boolean;
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
export function createUnsubscribing({ links, catalogs, profiles, isTenant }: UnsubscribeOptions): Unsubscribing {
  const end = async ({ tenantNo, userId, kind }: Unsubscription): Promise<void> => {
    const compiled = await catalogs.of(tenantNo);
    const { notifications } = await profiles.preferences(compiled, userId);
    const channels = notifications[kind] ?? [];
    if (!channels.includes('email')) return;
    const others = channels.filter((channel) => channel !== 'email');
    await profiles.updatePreferences(compiled, userId, { notifications: { [kind]: others } });
  };
  return {
    read: (token) => links.read(token),
    async unsubscribe(token) {
      const link = links.read(token);
      if (link === null || !isTenant(link.tenantNo)) return;
      await end(link).catch((error: unknown) => {
        if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
      });
    },
  };
}
