import type { Catalogs } from '../../catalog/catalogs.ts';
import {
  DEFAULT_MESSAGE_SETTINGS,
  type MessageSettings,
  type UnsubscribePreview,
  type UnsubscribePreviewRequest,
} from '../../domain/notifications/message-settings.ts';
import { MESSAGE_KINDS, type MessageKind } from '../../domain/notifications/message-variables.ts';
import {
  type RenderedUnsubscribePage,
  renderUnsubscribePage,
  unsubscribeProblems,
  type UnsubscribeTexts,
} from '../../domain/notifications/unsubscribe-page.ts';
import { AppError } from '../../errors.ts';
import { isUnavailable } from '../unavailable.ts';
import type { UserProfiles } from '../users/user-profiles.ts';
import type { SeenMessages } from './seen-messages.ts';
import type { UnsubscribeLinks } from './unsubscribe-links.ts';
import { unsubscribeTextsFor } from './unsubscribe-pages.ts';

interface PreferencesOptions {
  catalogs: Pick<Catalogs, 'of'>;
  profiles: Pick<UserProfiles, 'preferences' | 'updatePreferences'>;
}

export interface UnsubscribeOptions extends PreferencesOptions {
  links: UnsubscribeLinks;
  profiles: Pick<UserProfiles, 'get' | 'preferences' | 'updatePreferences'>;
  /** The name that users know. */
  appName: () => string;
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
  /**
   * The page of a link, in the locale of its user or else in `language`, that of the browser; `null` if nobody signed the link. While
   * Redis or Postgres is away, it has built-in texts or no user's locale, and does not fail.
   */
  page(token: string, language: string): Promise<RenderedUnsubscribePage | null>;
  /** The page as a user would get it, without a browser's language. Throws 404 for an unknown user, 422 for texts with problems. */
  preview(tenantNo: number, request: UnsubscribePreviewRequest): Promise<UnsubscribePreview>;
}

/** Unsubscribing by links in e-mails, without a login. */
export function createUnsubscribing(options: UnsubscribeOptions): Unsubscribing {
  const { links, catalogs, profiles, isTenant, seen, appName } = options;
  return {
    async page(token, language) {
      const link = links.read(token);
      if (link === null) return null;
      const { settings, payload } = await visitorOf(options, link);
      return renderUnsubscribePage(
        unsubscribeTextsFor(settings, { kind: link.kind, payload, language, appName: appName() }),
      );
    },
    async preview(tenantNo, { userId, kind, page }) {
      const problems = page === undefined ? [] : unsubscribeProblems(page);
      if (problems.length > 0)
        throw new AppError('unprocessable', problems.map(({ field, text }) => `page.${field}: ${text}`).join('; '));
      const compiled = await catalogs.of(tenantNo);
      const payload = { user: await profiles.get(compiled, userId) };
      const texts: UnsubscribeTexts & { locale?: string } =
        page ?? unsubscribeTextsFor(compiled.catalog.messages, { kind, payload, language: '', appName: appName() });
      return { locale: texts.locale ?? null, ...renderUnsubscribePage(texts) };
    },
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

/** The tenant's settings and the user of a link, as far as they can be read. */
async function visitorOf(
  { catalogs, profiles, isTenant }: Pick<UnsubscribeOptions, 'catalogs' | 'profiles' | 'isTenant'>,
  { tenantNo, userId }: { tenantNo: number; userId: string },
): Promise<{ settings: MessageSettings; payload: Readonly<Record<string, unknown>> }> {
  let settings = DEFAULT_MESSAGE_SETTINGS;
  if (!isTenant(tenantNo)) return { settings, payload: {} };
  try {
    const compiled = await catalogs.of(tenantNo);
    settings = compiled.catalog.messages;
    return {
      settings,
      payload: settings.localeAttribute === null ? {} : { user: await profiles.get(compiled, userId) },
    };
  } catch (error) {
    if (!(error instanceof AppError) && !isUnavailable(error)) throw error;
    return { settings, payload: {} };
  }
}

/**
 * Ends e-mails of some kinds, or of all (`null`), to a user, whose other preferences stay. Idempotent; does nothing for a user who
 * was deleted. Throws 503 while Redis is away.
 */
export async function endEmails(
  { catalogs, profiles }: PreferencesOptions,
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
