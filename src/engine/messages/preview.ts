import type { Catalogs } from '../../catalog/catalogs.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { userAttributeKeys } from '../../catalog/rules/references.ts';
import type { Clock } from '../../clock.ts';
import { REACTIVATION_DAYS, recapDays } from '../../domain/notifications/email-times.ts';
import {
  type MessagePreview,
  type MessagePreviewRequest,
  type PushPreview,
  type PushPreviewRequest,
  pushTemplateFor,
  templateFor,
} from '../../domain/notifications/message-settings.ts';
import { type MessageTemplate, renderMessage, templateProblems } from '../../domain/notifications/message-template.ts';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import { type PushTemplate, pushTemplateProblems, renderPush } from '../../domain/notifications/push-template.ts';
import type { Settings } from '../../domain/settings.ts';
import { dayIn } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import type { User } from '../../rules/user.ts';
import { achievementDue, reactivationDue, recapDue, streakReminderDue, userJson } from '../notifications/payloads.ts';
import type { StreakReads } from '../streaks/streak-reads.ts';
import type { UserReads } from '../users/user-reads.ts';

interface MessagePreviewOptions {
  catalogs: Catalogs;
  users: Pick<UserReads, 'state'>;
  streaks: Pick<StreakReads, 'ofUser'>;
  clock: Clock;
  organisation: () => { controlShare: number; aggregationPeriod: Settings['aggregationPeriod'] };
}

export type PreviewPush = (tenantNo: number, request: PushPreviewRequest) => Promise<PushPreview>;
export type PreviewMessage = (tenantNo: number, request: MessagePreviewRequest) => Promise<MessagePreview>;

/** Stands for the link in a preview, which nobody signed. */
const UNSUBSCRIBE_URL = 'https://example.org/unsubscribe';

/**
 * Creates a function that renders an e-mail with a user's figures of this moment, whether or not the e-mail is due and the user
 * gets any. It throws 404 for an unknown user or a kind without a template, and 422 for a template with problems.
 */
export function createMessagePreview(options: MessagePreviewOptions): PreviewMessage {
  const { catalogs, users } = options;
  return async (tenantNo, { userId, kind, template }) => {
    const compiled = await catalogs.of(tenantNo);
    const { attributes, messages } = compiled.catalog;
    if (template !== undefined) {
      const problems = templateProblems(template, { kind, attributeKeys: userAttributeKeys(attributes) });
      if (problems.length > 0)
        throw new AppError('unprocessable', problems.map(({ field, text }) => `template.${field}: ${text}`).join('; '));
    }
    const state = await users.state(tenantNo, userId);
    const payload = JSON.parse(await payloadOf(options, { compiled, userId, state }, kind)) as Record<string, unknown>;
    const used: (MessageTemplate & { locale?: string }) | null = template ?? templateFor(messages, kind, payload);
    if (used === null) throw new AppError('not_found', `There is no template of the kind ${kind}.`);
    return { locale: used.locale ?? null, ...renderMessage(used, { payload, unsubscribeUrl: UNSUBSCRIBE_URL }) };
  };
}

/** The same for push notifications. */
export function createPushPreview(options: MessagePreviewOptions): PreviewPush {
  const { catalogs, users } = options;
  return async (tenantNo, { userId, kind, template }) => {
    const compiled = await catalogs.of(tenantNo);
    const { attributes, messages } = compiled.catalog;
    if (template !== undefined) {
      const problems = pushTemplateProblems(template, { kind, attributeKeys: userAttributeKeys(attributes) });
      if (problems.length > 0)
        throw new AppError('unprocessable', problems.map(({ field, text }) => `template.${field}: ${text}`).join('; '));
    }
    const state = await users.state(tenantNo, userId);
    const payload = JSON.parse(await payloadOf(options, { compiled, userId, state }, kind)) as Record<string, unknown>;
    const used: (PushTemplate & { locale?: string }) | null = template ?? pushTemplateFor(messages, kind, payload);
    if (used === null) throw new AppError('not_found', `There is no push template of the kind ${kind}.`);
    return { locale: used.locale ?? null, ...renderPush(used, payload) };
  };
}

interface Previewed {
  compiled: CompiledCatalog;
  userId: string;
  state: User;
}

/** The payload of an e-mail that were due now: of a recap for the last period, of a reactivation for the first message. */
async function payloadOf(
  { streaks, clock, organisation }: MessagePreviewOptions,
  { compiled, userId, state }: Previewed,
  kind: MessageKind,
): Promise<string> {
  const { controlShare, aggregationPeriod } = organisation();
  const dueMs = clock.now();
  const user = userJson(compiled, { userId, state, controlShare });
  switch (kind) {
    case 'streak_reminder':
      return streakReminderDue(user, await streaks.ofUser(compiled, userId, 1), dueMs);
    case 'achievement_completed':
      return achievementDue(user, { compiled, achievement: latestOf(compiled, state), state, dueMs });
    case 'reactivation':
      return reactivationDue(user, { dueMs, messageNumber: 1, daysSinceLastActive: REACTIVATION_DAYS[0]! });
    case 'recap':
      return recapDue(user, { dueMs, ...recapDays(aggregationPeriod, dayIn(state.zone, dueMs)) });
  }
}

/** The achievement that the user completed last. Throws 422 if there is none. */
function latestOf({ achievementsByNo }: CompiledCatalog, { completions }: User) {
  const known = [...completions].filter(([no]) => achievementsByNo.has(no));
  const [latest] = known.toSorted(([, one], [, other]) => other - one);
  if (latest === undefined)
    throw new AppError('unprocessable', 'userId: the user has completed no achievement yet; choose another one');
  return achievementsByNo.get(latest[0])!;
}
