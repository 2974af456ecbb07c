import { completeAchievements } from './achievements.ts';
import { localTime } from './clock.ts';
import { hasAll, holds } from './conditions.ts';
import type { Plan, PlanAchievement } from './plan.ts';
import { award, openLedgers, type OwnBoosts } from './points.ts';
import { followChains, type QuestOutcome } from './quests.ts';
import { isRefusal } from './refusal.ts';
import { payAndScore, type RequestOutcome } from './request.ts';
import { localDayOf, settleUser } from './streaks.ts';
import type { User } from './user.ts';

/** What a user's rank in a final run earns. `triggers`: numbers of points triggers. */
export interface RankReward {
  board: number;
  finalMs: number;
  triggers: ReadonlySet<number>;
  achievements: readonly PlanAchievement[];
}

/**
 * Rewards a user's rank in a final run, at the time at which the run became final: points, achievements, and what follows from
 * them. The state holds the last run of each leaderboard that was rewarded, so a repeated call changes nothing. Returns `null`
 * if there is nothing to give: also for a user who was created later, and so is not the one of the standings.
 */
export function rewardRank(
  user: User,
  plan: Plan,
  { board, finalMs, triggers, achievements, ownBoosts }: RankReward & { ownBoosts: OwnBoosts | null },
): RequestOutcome | null {
  if (user.createdMs > finalMs || (user.paidMs.get(board) ?? 0) >= finalMs) return null;
  const { day, second } = localTime(user, finalMs);
  const ledgers = openLedgers(plan.systems, user, ownBoosts, finalMs);
  for (const ledger of ledgers)
    for (const trigger of ledger.system.rank ?? [])
      if (triggers.has(trigger.no) && holds(trigger.users, user)) award(ledger, trigger, { times: 1, user, day });
  const earned = achievements.filter(
    ({ no, users, requires = [] }) => !user.completions.has(no) && holds(users, user) && hasAll(user, requires),
  );
  if (earned.length === 0 && ledgers.every(({ awards }) => awards.length === 0)) return null;
  user.paidMs.set(board, finalMs);
  const row = localDayOf(plan, day);
  const settlements = settleUser(user, plan.streak, row);
  const outcome: QuestOutcome = { completed: [], quests: [] };
  for (const { no } of earned) {
    user.completions.set(no, finalMs);
    outcome.completed.push(no);
  }
  if (earned.length > 0) {
    completeAchievements(user, plan.achievements, { nowMs: finalMs, completed: outcome.completed });
    followChains(plan, user, row, { nowMs: finalMs, outcome });
  }
  const scores = payAndScore(user, plan, { nowMs: finalMs, day, second, ledgers, completed: outcome.completed });
  if (isRefusal(scores)) throw new Error('A trigger blocks the reward of a rank.');
  return { day, settlements, ...outcome, ledgers, scores };
}
