import type { PlanBoost, PlanSystem, PlanTrigger } from '../../rules/plan.ts';
import { award, type Ledger } from '../../rules/points.ts';
import type { User } from '../../rules/user.ts';

/** Points of a trigger in a segment of time, see `boundsOf`. */
export interface TriggerPoints {
  triggerNo: number;
  segment: number;
  points: number;
}

/** Sums by trigger and segment or, with `isSeparate`, each award: what was paid for one completion can then be found again. */
function createAwardTally(isSeparate: boolean) {
  const byTrigger = new Map<number, Map<number, number>>();
  const each: TriggerPoints[] | null = isSeparate ? [] : null;

  function add(award: TriggerPoints): void {
    const { triggerNo, segment, points } = award;
    each?.push(award);
    let sums = byTrigger.get(triggerNo);
    if (sums === undefined) byTrigger.set(triggerNo, (sums = new Map()));
    sums.set(segment, (sums.get(segment) ?? 0) + points);
  }

  /** Those other than 0. */
  function* sums(): Generator<TriggerPoints> {
    if (each !== null) return yield* each.filter(({ points }) => points !== 0);
    for (const [triggerNo, sums] of byTrigger)
      for (const [segment, points] of sums) if (points !== 0) yield { triggerNo, segment, points };
  }

  return { add, sums };
}

type AwardTally = ReturnType<typeof createAwardTally>;

interface LedgerOptions {
  user: User;
  total: number;
  boosts: readonly PlanBoost[];
  /** The segment of time of a local day (epoch day). */
  segmentOf: (day: number) => number;
  isSeparate?: boolean;
}

/** A user's points in one system during a replay. */
export class HistoryLedger {
  readonly system: PlanSystem;
  readonly awarded: AwardTally;
  private readonly ledger: Ledger;
  private readonly user: User;
  private readonly segmentOf: LedgerOptions['segmentOf'];

  constructor(system: PlanSystem, { user, total, boosts, segmentOf, isSeparate = false }: LedgerOptions) {
    this.system = system;
    this.awarded = createAwardTally(isSeparate);
    // The replay notes levels itself, so it needs no time.
    this.ledger = { system, before: total, total, nowMs: 0, left: Infinity, boosts, awards: [], boosted: null };
    this.user = user;
    this.segmentOf = segmentOf;
  }

  /** The total at this point of the replay. */
  get total(): number {
    return this.ledger.total;
  }

  /** The total when levels were last paid. */
  get before(): number {
    return this.ledger.before;
  }

  /** Levels are paid for the total so far. */
  levelsArePaid(): void {
    this.ledger.before = this.ledger.total;
  }

  /** Pays a trigger on a local day (epoch day). */
  pay(trigger: PlanTrigger, times: number, day: number): void {
    award(this.ledger, trigger, { times, user: this.user, day });
    const paid = this.ledger.awards.pop();
    if (paid !== undefined)
      this.awarded.add({ triggerNo: trigger.no, segment: this.segmentOf(day), points: paid.points });
  }

  /** Adds an award that stays unchanged. */
  add(awarded: number): void {
    this.ledger.total += awarded;
  }
}
