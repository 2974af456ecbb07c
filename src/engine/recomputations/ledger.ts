import type { PlanAchievement, PlanBoost, PlanConditions, PlanTrigger } from '../../rules/plan.ts';
import { SUM_BOUND, toMicros } from '../../domain/decimal.ts';
import type { UserState } from '../../packed/state.ts';
import type { SystemRules } from './rules.ts';

/** Points of a trigger in a segment of time, see `boundsOf`. */
export interface TriggerPoints {
  triggerNo: number;
  segment: number;
  points: number;
}

/** Sums by trigger and segment or, with `isSeparate`, each award: what was paid for one completion can then be found again. */
class AwardTally {
  private readonly each: TriggerPoints[] | null;
  private readonly byTrigger = new Map<number, Map<number, number>>();

  constructor(isSeparate: boolean) {
    this.each = isSeparate ? [] : null;
  }

  add(award: TriggerPoints): void {
    const { triggerNo, segment, points } = award;
    this.each?.push(award);
    let sums = this.byTrigger.get(triggerNo);
    if (sums === undefined) this.byTrigger.set(triggerNo, (sums = new Map()));
    sums.set(segment, (sums.get(segment) ?? 0) + points);
  }

  /** Those other than 0. */
  *sums(): Generator<TriggerPoints> {
    if (this.each !== null) return yield* this.each.filter(({ points }) => points !== 0);
    for (const [triggerNo, sums] of this.byTrigger)
      for (const [segment, points] of sums) if (points !== 0) yield { triggerNo, segment, points };
  }
}

const ROUND = { 1: Math.floor, 2: Math.round, 3: Math.ceil } as const;

/** Cuts products in the same way as `src/rules/points.ts`. */
const cut = (product: number): number => Number(product.toPrecision(15));

/** Whether a user's attributes meet all conditions; the same rule as in `src/rules/conditions.ts`. */
export const holds = (conditions: PlanConditions | undefined, attributes: Readonly<Record<number, string>>): boolean =>
  conditions === undefined || conditions.every(([no, value]) => attributes[no] === value);

/**
 * A user's points in one system during a replay. `src/rules/points.ts` owns the rules; `test/rules/points-in-history.test.ts`
 * compares.
 */
export class Ledger {
  readonly system: SystemRules;
  readonly awarded: AwardTally;
  /** The total at this point of the replay. */
  total: number;
  private readonly boosts: readonly PlanBoost[];
  private readonly attributes: Readonly<Record<number, string>>;
  private readonly segmentOf: (day: number) => number;

  constructor(
    system: SystemRules,
    {
      total,
      boosts,
      attributes,
      segmentOf,
      isSeparate = false,
    }: {
      total: number;
      boosts: readonly PlanBoost[];
      attributes: Readonly<Record<number, string>>;
      /** The segment of time of a local day (epoch day). */
      segmentOf: (day: number) => number;
      isSeparate?: boolean;
    },
  ) {
    this.system = system;
    this.awarded = new AwardTally(isSeparate);
    this.total = total;
    this.boosts = boosts;
    this.attributes = attributes;
    this.segmentOf = segmentOf;
  }

  /** Pays a trigger on a local day (epoch day): applies boosts, then the cap and the floor, like `award` in `src/rules/points.ts`. */
  pay(trigger: PlanTrigger, multiples: number, day: number): void {
    if (multiples === 0 || !holds(trigger.users, this.attributes)) return;
    const points = trigger.points * multiples;
    const before = this.total;
    this.total =
      points > 0
        ? Math.max(before, Math.min(before + this.boosted(points, day), this.system.max ?? SUM_BOUND - 1))
        : Math.max(before + points, 0);
    this.awarded.add({ triggerNo: trigger.no, segment: this.segmentOf(day), points: this.total - before });
  }

  /** Adds an award that stays unchanged. */
  add(awarded: number): void {
    this.total += awarded;
  }

  private boosted(points: number, day: number): number {
    let multiplier = 1;
    let rounding: 1 | 2 | 3 | null = null;
    for (const boost of this.boosts) {
      if (day < boost.from || day > (boost.to ?? Infinity) || !holds(boost.users, this.attributes)) continue;
      multiplier = cut(multiplier * boost.multiplier);
      if (rounding === null || boost.rounding < rounding) rounding = boost.rounding;
    }
    return rounding === null ? points : ROUND[rounding](cut(points * multiplier));
  }
}

interface Reached {
  state: UserState;
  /** See `UserReplay.highestCount`. */
  highestCount: (no: number) => bigint;
  /** The longest streak ever, in the configured frequency. */
  longestStreak: number;
}

const MILLION = 1_000_000n;

/**
 * Whether a user qualifies for an achievement, or ever did. The rule of `src/rules/achievements.ts`, which only considers the
 * present; `test/lua/achievements.test.ts` compares. `micros`: the largest fraction that a highest total may have had, since
 * only its whole part is stored.
 */
function everQualified(
  achievement: PlanAchievement,
  { state, highestCount, longestStreak }: Reached,
  { completed, micros }: { completed: ReadonlySet<number>; micros: bigint },
): boolean {
  if (achievement.requires?.some((no) => !completed.has(no))) return false;
  if (achievement.of !== undefined) return achievement.of.every((no) => completed.has(no));
  if (achievement.length !== undefined) return longestStreak >= achievement.length;
  const wanted = BigInt(achievement.whole ?? 0) * MILLION + BigInt(achievement.micros ?? 0);
  if (achievement.counted) return highestCount(achievement.no) >= wanted;
  const no = achievement.metric ?? 0;
  if (state.totals[no] === undefined) return false;
  const total = toMicros(state.totals[no]);
  // The whole part of the highest total is stored only while it is above that of the current one.
  const peak = state.peaks[no] === undefined ? (total / MILLION) * MILLION : toMicros(state.peaks[no]);
  return total >= wanted || peak + micros >= wanted;
}

/** Achievements that a user gains and loses by the current rules. `may`: which ones may be lost. */
export function changesOf(
  achievements: readonly PlanAchievement[],
  reached: Reached,
  may: (no: number) => boolean,
): { gained: number[]; lost: number[] } {
  const held = new Set(Object.keys(reached.state.completions).map(Number));
  // Gained achievements keep those that need them.
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
