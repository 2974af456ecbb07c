import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Catalogs } from '../../catalog/catalogs.ts';
import type { Clock } from '../../clock.ts';
import { type MessageSettings, quietHoursOf, templateFor } from '../../domain/notifications/message-settings.ts';
import { renderMessage } from '../../domain/notifications/message-template.ts';
import { withLinks, withPixel } from '../../domain/notifications/tracked-html.ts';
import { AppError } from '../../errors.ts';
import type { WaitingMessage } from '../../postgres/notifications/messages.ts';
import { readMessageSettings } from '../../postgres/notifications/message-settings.ts';
import { isSuppressed } from '../../postgres/notifications/message-suppressions.ts';
import { readOrganisation } from '../../postgres/organisation.ts';
import { storedState } from '../../postgres/users/stored-states.ts';
import { packedUser } from '../../redis/parts.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { userResponse } from '../responses/users.ts';
import type { Prepared } from './message-queue.ts';
import { recipientOf } from './recipient.ts';
import type { Email } from './email-sender.ts';
import { CLICK_PATH, OPEN_PATH, type TrackingLinks } from './tracking-links.ts';
import type { UnsubscribeLinks } from './unsubscribe-links.ts';

export interface PreparingOptions {
  redis: Redis;
  pool: Pool;
  catalogs: Catalogs;
  clock: Clock;
  links: UnsubscribeLinks;
  tracking: TrackingLinks;
  /** The application port as users reach it. */
  publicUrl: string;
}

/** The path of the page on which users unsubscribe, followed by the token. */
export const UNSUBSCRIBE_PATH = '/unsubscribe';

/** A function that prepares a tenant's e-mails with its present settings. For a minute at most, as settings may change. */
export async function createPreparing(
  options: PreparingOptions,
  tenantNo: number,
): Promise<(due: WaitingMessage) => Promise<Prepared<Email>>> {
  const { pool, clock, links, publicUrl, catalogs } = options;
  const settings = await readMessageSettings(pool, tenantNo);
  const { controlShare } = await readOrganisation(pool);
  return async (due) => {
    const { userId, kind } = due;
    if (settings === null) return NO_TEMPLATE;
    const state = await readState(options, due);
    const isRefused = state?.email ? await isSuppressed(pool, tenantNo, state.email) : false;
    const rules = { controlShare, quietHours: quietHoursOf(settings), isSuppressed: () => isRefused };
    const recipient = recipientOf({ userId, state, kind }, rules, clock.now());
    if (!('address' in recipient)) return recipient;
    const compiled = await catalogs.of(tenantNo);
    // The user may have changed the name or an attribute since the e-mail fell due.
    const user = userResponse(compiled, { userId, state: state!, controlShare });
    const message = rendered(settings, due, {
      payload: { ...(JSON.parse(due.payload) as object), user },
      unsubscribeUrl: `${publicUrl}${UNSUBSCRIBE_PATH}/${links.token({ tenantNo, userId, kind, messageId: due.id })}`,
    });
    if (message === null) return NO_TEMPLATE;
    const html = tracked(options, settings, due, message);
    const email = { id: due.id, to: recipient.address, ...message, html };
    return { message: email, localDay: recipient.localDay, mostPerDay: settings.emailsPerDay };
  };
}

export const NO_TEMPLATE = { drop: 'the tenant has no template for it' };

function rendered(
  settings: MessageSettings,
  { kind }: WaitingMessage,
  figures: { payload: Record<string, unknown>; unsubscribeUrl: string },
): { subject: string; text: string; html: string; unsubscribeUrl: string } | null {
  const template = templateFor(settings, kind, figures.payload);
  return template && { ...renderMessage(template, figures), unsubscribeUrl: figures.unsubscribeUrl };
}

/** The HTML with the links and the picture by which it reports what the tenant wants to know. */
function tracked(
  { tracking, publicUrl }: PreparingOptions,
  { trackOpens, trackClicks }: MessageSettings,
  { id, tenantNo }: WaitingMessage,
  { html, unsubscribeUrl }: { html: string; unsubscribeUrl: string },
): string {
  const unsubscribeToken = unsubscribeUrl.slice(unsubscribeUrl.lastIndexOf('/') + 1);
  const clickUrl = (url: string): string | null => {
    const token = url.includes(unsubscribeToken) ? null : tracking.clickToken({ tenantNo, id }, url);
    return token && `${publicUrl}${CLICK_PATH}/${token}`;
  };
  const shown = trackClicks ? withLinks(html, clickUrl) : html;
  return trackOpens ? withPixel(shown, `${publicUrl}${OPEN_PATH}/${tracking.openToken({ tenantNo, id })}`) : shown;
}

/** The user's state; `undefined` for a deleted user. Rejects if it cannot be read at the moment. */
export async function readState(
  { redis, pool }: Pick<PreparingOptions, 'redis' | 'pool'>,
  { tenantNo, userId }: { tenantNo: number; userId: string },
): Promise<User | undefined> {
  const packed = await packedUser(redis, tenantNo, userId);
  if (packed !== null) return decodeUser(packed);
  if ((await storedState(pool, { tenantNo, userId })) !== null)
    throw new AppError('unavailable', 'The user is in Postgres, but not in Redis at the moment');
  return undefined;
}
