import type { PlanBoost, PlanConditions, PlanTrigger } from '../../catalog/plan.ts';
import { SUM_BOUND } from '../../domain/decimal.ts';
import { AwardTally } from './award-tally.ts';
import type { SystemRules } from './rules.ts';

const ROUND = { 1: Math.floor, 2: Math.round, 3: Math.ceil } as const;

/** As `lua/lib/points.lua` cuts products. */
const cut = (product: number): number => Number(product.toPrecision(15));

/** Whether a user's attributes meet all conditions, as `lua/lib/users.lua` says it. */
export const holds = (conditions: PlanConditions | undefined, attributes: Readonly<Record<number, string>>): boolean =>
  conditions === undefined || conditions.every(([no, value]) => attributes[no] === value);

/**
 * Points of one user in one system while history is played again. The rules are those of `lua/lib/points.lua` and
 * `lua/lib/points.lua`, which own them: a test compares the two.
 */
export class Ledger {
  readonly system: SystemRules;
  /** What each trigger awarded. */
  readonly awarded = new AwardTally();
  private total: number;
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
    }: {
      total: number;
      boosts: readonly PlanBoost[];
      attributes: Readonly<Record<number, string>>;
      /** The segment of time of a local day (epoch day). */
      segmentOf: (day: number) => number;
    },
  ) {
    this.system = system;
    this.total = total;
    this.boosts = boosts;
    this.attributes = attributes;
    this.segmentOf = segmentOf;
  }

  /** Pays a trigger on a local day (epoch day): boosts, then cap and floor. */
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

  /** An award that stays as it was. */
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
