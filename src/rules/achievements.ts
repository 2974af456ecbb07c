import { FREQUENCIES } from '../domain/streaks/settle.ts';
import type { Frequency } from '../domain/periods.ts';
import { hasAll, holds } from './conditions.ts';
import type { PlanAchievement } from './plan.ts';
import { reaches } from './sums.ts';
import type { User } from './user.ts';

/** The greatest length of each streak during a replay, which counts in place of the current one. */
export type GreatestLengths = Readonly<Record<Frequency, number>>;

/** Whether a user who does not have an achievement qualifies for it now. */
export function qualifies(achievement: PlanAchievement, user: User, most: GreatestLengths | null = null): boolean {
  if (!isReached(achievement, user, most) || !holds(achievement.users, user)) return false;
  return achievement.requires === undefined || hasAll(user, achievement.requires);
}

function isReached(achievement: PlanAchievement, user: User, most: GreatestLengths | null): boolean {
  const { of, years, length, frequency, metric, counted, no } = achievement;
  if (of !== undefined) return hasAll(user, of);
  // Years that the clock has counted so far. An event never counts them itself.
  if (years !== undefined) return user.signUp !== null && user.signUp.years >= years;
  if (length !== undefined) {
    const name = FREQUENCIES[frequency! - 1]!;
    return Math.max(user.streaks[name].length, most?.[name] ?? 0) >= length;
  }
  const total = counted === true ? user.counts.get(no) : user.totals.get(metric!);
  return total !== undefined && reaches(total, { whole: achievement.whole!, micros: achievement.micros! });
}

/**
 * Completes the achievements for which the user qualifies. Repeats until none follows from another. Appends their numbers to
 * `completed`.
 */
export function completeAchievements(
  user: User,
  achievements: readonly PlanAchievement[],
  { nowMs, completed, most = null }: { nowMs: number; completed: number[]; most?: GreatestLengths | null },
): void {
  const { completions } = user;
  for (let found = true; found;) {
    found = false;
    for (const achievement of achievements) {
      if (completions.has(achievement.no) || !qualifies(achievement, user, most)) continue;
      completions.set(achievement.no, nowMs);
      completed.push(achievement.no);
      found = true;
    }
  }
}
