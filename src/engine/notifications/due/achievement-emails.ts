import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Notification } from '../../../domain/notifications/notification.ts';
import { decodeUser } from '../../../rules/user-codec.ts';
import {
  type DueCompletion,
  firstDueCompletion,
  takeDueCompletions,
  tenantsWithDueCompletions,
} from '../../../postgres/notifications/emails.ts';
import { readOrganisation } from '../../../postgres/organisation.ts';
import { storedStates } from '../../../postgres/users/stored-states.ts';
import { type ScheduledWork, workInPieces } from '../../schedule/due-work.ts';
import { type OnPieceFailed, Pieces, tenantPiece } from '../../schedule/pieces.ts';
import { achievementDue, userJson } from '../payloads.ts';
import { aboutAchievement, type Wants } from '../rules.ts';
import { reachOf } from './email-kinds.ts';
import type { Publisher } from './publisher.ts';

const TYPE = 'emails.achievement_due';
/** Completions in a transaction. */
const AT_ONCE = 500;

/**
 * E-mails about achievements. `noteDue` noted each completion with the time at which its e-mail is due. The transaction
 * that stores the messages deletes the row. Users who may not be written to at that time get none.
 */
export function createAchievementEmails(publisher: Publisher, onFailed?: OnPieceFailed): ScheduledWork {
  const pieces = new Pieces({ kind: 'e-mails about achievements', onFailed });

  function due(upToMs: number): Promise<number | null> {
    return firstDueCompletion(publisher.pool, upToMs, pieces.tenantNos);
  }

  async function perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void> {
    const lastMs = Math.max(dueMs, beforeMs - 1);
    const { controlShare } = await readOrganisation(publisher.pool);
    const wanting = new Map((await publisher.wanting([TYPE])).map((one) => [one.tenantNo, one]));
    const tenantNos = await tenantsWithDueCompletions(publisher.pool, lastMs, AT_ONCE);
    await pieces.attemptEach(tenantNos, tenantPiece, ending, async (tenantNo) => {
      const compiled = await publisher.catalog(tenantNo, wanting.get(tenantNo)?.version ?? 0);
      const wantsOf = (userId: string): Wants => publisher.wants(compiled, userId);
      const { isEmailed = false, isPushed = false } = wanting.get(tenantNo) ?? {};
      const context = { compiled, controlShare, wantsOf, isEmailed, isPushed };
      await publisher.publish(compiled, upToMs, async (client) => {
        const due = await takeDueCompletions(client, { tenantNo, upToMs: lastMs, limit: AT_ONCE });
        const userIds = [...new Set(due.map(({ userId }) => userId))];
        const states = await storedStates(client, tenantNo, userIds);
        return due.flatMap((completion) => {
          const state = states.get(completion.userId);
          return (state && notification(context, completion, state)) ?? [];
        });
      });
    });
  }

  return workInPieces(pieces, { due, perform });
}

interface Context {
  compiled: CompiledCatalog;
  controlShare: number;
  isEmailed: boolean;
  isPushed: boolean;
  wantsOf: (userId: string) => Wants;
}

/** `null` if the achievement is gone, no receiver wants the notification, or the user may not be written to. */
function notification(
  { compiled, controlShare, isEmailed, isPushed, wantsOf }: Context,
  { userId, achievementNo, dueMs }: DueCompletion,
  packed: Buffer,
): Notification | null {
  const achievement = compiled.achievementsByNo.get(achievementNo);
  if (achievement === undefined) return null;
  const about = aboutAchievement(achievement);
  const state = decodeUser(packed);
  const completedMs = state.completions.get(achievementNo);
  if (completedMs === undefined || !wantsOf(userId)(TYPE, about)) return null;
  const settings = { controlShare, isEmailed, isPushed };
  const { media, isWithheld } = reachOf(userId, state, 'achievement_completed', settings);
  if (media.length === 0) return null;
  const payload = isWithheld
    ? ''
    : achievementDue(userJson(compiled, { userId, state, controlShare }), { compiled, achievement, state, dueMs });
  const { tenantNo } = compiled.catalog;
  return {
    type: TYPE,
    tenantNo,
    userId,
    atMs: dueMs,
    source: `${userId}:${achievementNo}:${completedMs}`,
    about,
    media,
    isWithheld,
    payload,
  };
}
