import type { PlanAchievement } from '../../catalog/plan.ts';
import { toMicros } from '../../domain/micros.ts';
import type { UserState } from '../../packed/state.ts';
import { holds } from './ledger.ts';

/** What of a user achievements are completed by. */
export interface Reached {
  state: UserState;
  /** See `UserReplay.highestCount`. */
  highestCount: (no: number) => bigint;
  /** The longest streak there ever was, in the frequency that counts. */
  longestStreak: number;
}

const MILLION = 1_000_000n;

/**
 * Whether a user has, or once had, what it takes. The rule of `lua/lib/achievements.lua`, which looks at now only. `micros`: what a
 * highest total may have had beyond its whole part, which is all that is kept of it.
 */
function everQualified(
  achievement: PlanAchievement,
  { state, highestCount, longestStreak }: Reached,
  { completed, micros }: { completed: ReadonlySet<number>; micros: bigint },
): boolean {
  if (achievement.of !== undefined) return achievement.of.every((no) => completed.has(no));
  if (achievement.length !== undefined) return longestStreak >= achievement.length;
  const wanted = BigInt(achievement.whole ?? 0) * MILLION + BigInt(achievement.micros ?? 0);
  if (achievement.counted) return highestCount(achievement.no) >= wanted;
  const no = achievement.metric ?? 0;
  const total = state.totals[no];
  if (total === undefined) return false;
  const peak = state.peaks[no];
  return toMicros(total) >= wanted || (peak !== undefined && toMicros(peak) + micros >= wanted);
}

/** Numbers of the achievements that a user gets, and loses, by the rules of now; composites follow. `may`: which may be lost. */
export function changesOf(
  achievements: readonly PlanAchievement[],
  reached: Reached,
  may: (no: number) => boolean,
): { gained: number[]; lost: number[] } {
  const held = new Set(Object.keys(reached.state.completions).map(Number));
  // What is gained keeps composites that need it.
  const lost = lostOf(achievements, reached, {
    completed: new Set([...held, ...gainedOf(achievements, reached, held)]),
    may: (no) => held.has(no) && may(no),
  });
  const kept = new Set([...held].filter((no) => !lost.includes(no)));
  return { gained: gainedOf(achievements, reached, kept), lost };
}

function gainedOf(achievements: readonly PlanAchievement[], reached: Reached, held: ReadonlySet<number>): number[] {
  const completed = new Set(held);
  const gained: number[] = [];
  for (let found = true; found;) {
    found = false;
    for (const achievement of achievements) {
      if (completed.has(achievement.no) || !holds(achievement.users, reached.state.attributes)) continue;
      if (!everQualified(achievement, reached, { completed, micros: 0n })) continue;
      completed.add(achievement.no);
      gained.push(achievement.no);
      found = true;
    }
  }
  return gained;
}

function lostOf(
  achievements: readonly PlanAchievement[],
  reached: Reached,
  { completed, may }: { completed: Set<number>; may: (no: number) => boolean },
): number[] {
  const lost: number[] = [];
  for (let found = true; found;) {
    found = false;
    for (const achievement of achievements) {
      if (!completed.has(achievement.no) || !may(achievement.no)) continue;
      const holdsNow = holds(achievement.users, reached.state.attributes);
      if (holdsNow && everQualified(achievement, reached, { completed, micros: MILLION - 1n })) continue;
      completed.delete(achievement.no);
      lost.push(achievement.no);
      found = true;
    }
  }
  return lost;
}
