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
import { nextTurn } from '../../pacing/turns.ts';
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
export const createMessagePreview =
  (options: MessagePreviewOptions): PreviewMessage =>
  async (tenantNo, { userId, kind, template }) => {
    const { compiled, payload } = await previewed(options, { tenantNo, userId, kind }, template, templateProblems);
    const used: (MessageTemplate & { locale?: string }) | null =
      template ?? templateFor(compiled.catalog.messages, kind, payload);
    if (used === null) throw new AppError('not_found', `There is no template of the kind ${kind}.`);
    await nextTurn();
    return { locale: used.locale ?? null, ...renderMessage(used, { payload, unsubscribeUrl: UNSUBSCRIBE_URL }) };
  };

/** The same for push notifications. */
export const createPushPreview =
  (options: MessagePreviewOptions): PreviewPush =>
  async (tenantNo, { userId, kind, template }) => {
    const { compiled, payload } = await previewed(options, { tenantNo, userId, kind }, template, pushTemplateProblems);
    const used: (PushTemplate & { locale?: string }) | null =
      template ?? pushTemplateFor(compiled.catalog.messages, kind, payload);
    if (used === null) throw new AppError('not_found', `There is no push template of the kind ${kind}.`);
    return { locale: used.locale ?? null, ...renderPush(used, payload) };
  };

type ProblemsOf<T> = (
  template: T,
  known: { kind: MessageKind; attributeKeys: ReadonlySet<string> },
) => readonly { field: string; text: string }[];

/** What a template is rendered with. Throws 422 for a draft with problems. */
async function previewed<T>(
  options: MessagePreviewOptions,
  { tenantNo, userId, kind }: { tenantNo: number; userId: string; kind: MessageKind },
  draft: T | undefined,
  problemsOf: ProblemsOf<T>,
): Promise<{ compiled: CompiledCatalog; payload: Record<string, unknown> }> {
  const compiled = await options.catalogs.of(tenantNo);
  const attributeKeys = userAttributeKeys(compiled.catalog.attributes);
  const problems = draft === undefined ? [] : problemsOf(draft, { kind, attributeKeys });
  if (problems.length > 0)
    throw new AppError('unprocessable', problems.map(({ field, text }) => `template.${field}: ${text}`).join('; '));
  const state = await options.users.state(tenantNo, userId);
  const payload = await payloadOf(options, { compiled, userId, state }, kind);
  return { compiled, payload: JSON.parse(payload) as Record<string, unknown> };
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
