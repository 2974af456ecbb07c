import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Notification } from '../../../domain/notifications/notification.ts';
import { decodeUser } from '../../../rules/user-codec.ts';
import {
  type DueCompletion,
  firstDueCompletion,
  takeDueCompletions,
  tenantsWithDueCompletions,
} from '../../../postgres/notifications/emails.ts';
import { readOrganisation } from '../../../postgres/tenants.ts';
import { storedStates } from '../../../postgres/users/stored-states.ts';
import type { ScheduledWork } from '../../schedule/due-work.ts';
import { type OnPieceFailed, Pieces, tenantPiece } from '../../schedule/pieces.ts';
import { achievementDue, userJson } from '../payloads.ts';
import { aboutAchievement, type Wants } from '../rules.ts';
import { reachOf } from './email-kinds.ts';
import type { Publisher } from './publisher.ts';

export interface AchievementEmailsOptions {
  publisher: Publisher;
  onFailed?: OnPieceFailed;
}

const TYPE = 'emails.achievement_due';
/** Completions in a transaction. */
const AT_ONCE = 500;

/**
 * E-mails about achievements. `noteDue` noted each completion with the time at which its e-mail is due. The transaction
 * that stores the messages deletes the row. Users who may not be written to at that time get none.
 */
export class AchievementEmails implements ScheduledWork {
  readonly name = 'e-mails about achievements';
  private readonly options: AchievementEmailsOptions;
  private readonly pieces: Pieces;

  constructor(options: AchievementEmailsOptions) {
    this.options = options;
    this.pieces = new Pieces({ kind: this.name, onFailed: options.onFailed });
  }

  get aside(): string[] {
    return this.pieces.aside.map(({ name }) => name);
  }

  due(upToMs: number): Promise<number | null> {
    const except = this.pieces.aside.map(({ key }) => Number(key));
    return firstDueCompletion(this.options.publisher.pool, upToMs, except);
  }

  upcoming(untilMs: number): Promise<number | null> {
    return this.due(untilMs);
  }

  async perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void> {
    const { publisher } = this.options;
    const lastMs = Math.max(dueMs, beforeMs - 1);
    const { controlShare } = await readOrganisation(publisher.pool);
    const wanting = new Map((await publisher.wanting([TYPE])).map((one) => [one.tenantNo, one]));
    for (const tenantNo of await tenantsWithDueCompletions(publisher.pool, lastMs, AT_ONCE)) {
      if (ending.aborted) return;
      if (this.pieces.isAside(String(tenantNo))) continue;
      await this.pieces.attempt(tenantPiece(tenantNo), ending, async () => {
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
  }
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
