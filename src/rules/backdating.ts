import type { Decimal } from '../domain/decimal.ts';
import { completeAchievements } from './achievements.ts';
import type { Plan } from './plan.ts';
import { openLedgers, type OwnBoosts } from './points.ts';
import { completePeriods, followChains, type QuestOutcome, progressOf } from './quests.ts';
import { isRefusal, type Refusal } from './refusal.ts';
import { payAndScore, type RequestOutcome } from './request.ts';
import { localDayOf, settleUser } from './streaks.ts';
import { dayOfUser, type QuestPeriod, secondOfUser, type User } from './user.ts';

/** What a user's history says about an achievement; `null` if the user's state suffices. Later events continue from it. */
export interface AchievementHistory {
  achievement: number;
  /** Sum of the matching events, for an achievement that counts only these. */
  count: Decimal | null;
  /** The latest periods of a repeating achievement, newest first. */
  periods: readonly QuestPeriod[] | null;
}

/** Stores what a user's history says. */
export function takeHistory(user: User, { achievement, count, periods }: AchievementHistory): void {
  if (count !== null) user.counts.set(achievement, { ...count, peak: null });
  if (periods !== null) progressOf(user, achievement).periods = periods.map((period) => ({ ...period }));
}

/**
 * Completes activated or edited achievements for a user who already qualifies, and the achievements that follow. A user keeps an
 * existing completion unchanged. A blocking trigger refuses all completions, as it would in an event.
 */
export function backdate(
  user: User,
  plan: Plan,
  { history, ownBoosts, nowMs }: { history: AchievementHistory | null; ownBoosts: OwnBoosts | null; nowMs: number },
): RequestOutcome | Refusal {
  const day = dayOfUser(user, nowMs);
  const row = localDayOf(plan, day);
  const settlements = settleUser(user, plan.streak, row);
  if (history !== null) takeHistory(user, history);
  const outcome: QuestOutcome = { completed: [], quests: [] };
  completePeriods(plan.quests ?? [], user, row, { nowMs, outcome });
  completeAchievements(user, plan.achievements, { nowMs, completed: outcome.completed });
  followChains(plan, user, row, { nowMs, outcome });
  const ledgers = openLedgers(plan.systems, user, ownBoosts, nowMs);
  const second = secondOfUser(user, nowMs);
  const scores = payAndScore(user, plan, { nowMs, day, second, ledgers, completed: outcome.completed });
  return isRefusal(scores) ? scores : { day, settlements, ...outcome, ledgers, scores };
}
