import type { Decimal } from '../domain/decimal.ts';
import { FREQUENCIES, type Frequency } from '../domain/periods.ts';
import { hasAll, holds } from './conditions.ts';
import type { PlanAchievement } from './plan.ts';
import { plus, reaches } from './sums.ts';
import type { Total, User } from './user.ts';

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
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const achievement of achievements) {
      if (completions.has(achievement.no) || !qualifies(achievement, user, most)) continue;
      completions.set(achievement.no, nowMs);
      completed.push(achievement.no);
      isChanged = true;
    }
  }
}

/** What a user ever reached, beside the highest totals that the user's state has. */
interface EverReached {
  /** The highest sum of the events that match an achievement's conditions, by number. */
  highestCount: (no: number) => Decimal;
  /** The longest streak, in the configured frequency. */
  longestStreak: number;
}

/**
 * Numbers of the achievements that a user gains and loses if they go by what the user ever reached. `may`: which ones may be lost. Of a
 * highest total only the whole part is stored; nothing is lost for lack of the rest.
 */
export function changedAchievements(
  user: User,
  achievements: readonly PlanAchievement[],
  { highestCount, longestStreak }: EverReached,
  may: (no: number) => boolean,
): { gained: number[]; lost: number[] } {
  const most = { daily: longestStreak, weekly: longestStreak, monthly: longestStreak };
  const counted = achievements.filter((achievement) => achievement.counted === true);
  const counts = new Map(counted.map(({ no }) => [no, { ...highestCount(no), peak: null }]));
  const atBest = (completions: User['completions'], micros: number): User => ({
    ...user,
    counts,
    totals: new Map(Array.from(user.totals, ([no, total]) => [no, highestTotal(total, micros)])),
    completions,
  });
  const gainedWith = (held: ReadonlyMap<number, number>): number[] => {
    const completed: number[] = [];
    completeAchievements(atBest(new Map(held), 0), achievements, { nowMs: 0, completed, most });
    return completed;
  };
  // Gained achievements keep those that need them.
  const all = new Map([...user.completions, ...gainedWith(user.completions).map((no) => [no, 0] as const)]);
  const best = atBest(all, 999_999);
  const lost: number[] = [];
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const achievement of achievements) {
      const { no } = achievement;
      if (!all.has(no) || !user.completions.has(no) || !may(no) || qualifies(achievement, best, most)) continue;
      all.delete(no);
      lost.push(no);
      isChanged = true;
    }
  }
  const remaining = new Map([...user.completions].filter(([no]) => !lost.includes(no)));
  return { gained: gainedWith(remaining), lost };
}

/** `micros`: the fraction that the highest total may have had. */
function highestTotal(total: Total, micros: number): Total {
  const highest = plus({ whole: total.peak ?? total.whole, micros: 0 }, { whole: 0, micros });
  return reaches(total, highest) ? total : { ...highest, peak: null };
}
