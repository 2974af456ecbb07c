import { SUM_BOUND } from '../domain/decimal.ts';
import { holds } from './conditions.ts';
import type { PlanBoost, PlanSystem, PlanTrigger } from './plan.ts';
import type { Peaks } from './sums.ts';
import type { User } from './user.ts';

/*
 * Points: what triggers pay in one change of a user. Triggers fire in the order user_creation, metric, streak, achievement, and
 * within a type oldest first. Then triggers for levels fire in all systems, again and again while their awards lead to further
 * levels. Maximum and minimum apply at each award. An award of 0 is not recorded.
 */

/** Points that a trigger really added, after boosts, maximum and minimum. */
export interface Award {
  trigger: number;
  points: number;
  /** The total after it. */
  after: number;
  /** Numbers of the boosts applied. */
  boosts: number[];
  /** The local day of the award that a correction takes back or gives; absent: that of the change. */
  day?: number;
}

/** How a user's total in a points system moved. */
export interface PointsMove {
  system: { no: number };
  /** The total before the change, and now. */
  before: number;
  total: number;
  awards: Award[];
}

/** One points system in one change of a user. */
export interface Ledger extends PointsMove {
  system: PlanSystem;
  /** The time of the change. */
  nowMs: number;
  /** What blocking triggers may spend: the balance before the change's awards. */
  left: number;
  /** The plan's boosts and the user's own. */
  boosts: readonly PlanBoost[];
  boosted: Boosted | null;
}

/** The combined effect of a ledger's boosts on a local day. */
interface Boosted {
  day: number;
  boosts: number[];
  multiplier: number;
  /** 1 down, 2 nearest, 3 up. */
  rounding: number;
}

/** A user's own boosts by points system number. */
export type OwnBoosts = Readonly<Record<number, readonly PlanBoost[]>>;

/**
 * A user's balance in a points system: the total minus points spent, minus open holds. Below zero if points were taken away after
 * they were spent.
 */
export function balanceOf(user: User, system: number, nowMs: number): number {
  let balance = (user.points.get(system) ?? 0) - (user.spent.get(system) ?? 0);
  for (const hold of user.holds) if (hold.system === system && hold.expiresMs > nowMs) balance -= hold.amount;
  return balance;
}

export const openLedgers = (
  systems: readonly PlanSystem[],
  user: User,
  ownBoosts: OwnBoosts | null,
  nowMs: number,
): Ledger[] =>
  systems.map((system) => {
    const own = ownBoosts?.[system.no];
    const total = user.points.get(system.no) ?? 0;
    return {
      system,
      before: total,
      total,
      nowMs,
      left: balanceOf(user, system.no, nowMs),
      boosts: own === undefined ? system.boosts : [...system.boosts, ...own],
      awards: [],
      boosted: null,
    };
  });

/** Stores the ledgers' totals. */
export function closeLedgers(ledgers: readonly Ledger[], { points }: User): void {
  for (const { system, before, total } of ledgers) {
    if (total === before) continue;
    if (total > 0) points.set(system.no, total);
    else points.delete(system.no);
  }
}

/** Pays the triggers for a new user. Blocking triggers may spend these points. */
export function welcome(ledgers: readonly Ledger[], user: User, day: number): void {
  for (const ledger of ledgers) {
    for (const trigger of ledger.system.creation)
      if (holds(trigger.users, user)) award(ledger, trigger, { times: 1, user, day });
    ledger.left = ledger.total;
  }
}

/** Pays one trigger a number of times. */
export function award(
  ledger: Ledger,
  trigger: PlanTrigger,
  { times, user, day }: { times: number; user: User; day: number },
): void {
  const points = trigger.points * times;
  let after = Math.max(ledger.total + points, 0);
  let boosts: number[] = [];
  if (points > 0) {
    const boosted = boostedPoints(points, ledger, user, day);
    ({ boosts } = boosted);
    const most = ledger.system.max ?? SUM_BOUND - 1;
    after = Math.max(ledger.total, Math.min(ledger.total + boosted.points, most));
  }
  if (after === ledger.total) return;
  ledger.awards.push({ trigger: trigger.no, points: after - ledger.total, after, boosts });
  ledger.total = after;
}

/** Applies the boosts in force on a local day to a positive award, and rounds once. */
function boostedPoints(points: number, ledger: Ledger, user: User, day: number): { points: number; boosts: number[] } {
  if (ledger.boosts.length === 0) return { points, boosts: [] };
  if (ledger.boosted?.day !== day) ledger.boosted = boostsOn(ledger.boosts, user, day);
  const { boosts, multiplier, rounding } = ledger.boosted;
  if (boosts.length === 0) return { points, boosts };
  const product = cut(points * multiplier);
  if (rounding === 1) return { points: Math.floor(product), boosts };
  if (rounding === 3) return { points: Math.ceil(product), boosts };
  return { points: Math.floor(product + 0.5), boosts };
}

/** Multipliers are multiplied. If the roundings disagree, down beats nearest and nearest beats up. */
function boostsOn(boosts: readonly PlanBoost[], user: User, day: number): Boosted {
  const effect: Boosted = { day, boosts: [], multiplier: 1, rounding: 3 };
  for (const { no, from, to, multiplier, rounding, users } of boosts) {
    if (day < from || (to !== undefined && day > to) || !holds(users, user)) continue;
    effect.boosts.push(no);
    effect.multiplier = cut(effect.multiplier * multiplier);
    effect.rounding = Math.min(effect.rounding, rounding);
  }
  return effect;
}

const DIGITS = 15;
/** A product cut to 15 digits, so that 10 × 1.1 is exactly 11 and 12,345,678,900 × 1.1 is exactly 13,580,246,790. */
const cut = (product: number): number =>
  Number.isInteger(product) && Math.abs(product) < 1e15 ? product : Number(product.toPrecision(DIGITS));

/**
 * How many multiples of a metric trigger's threshold an event newly crosses. The highest total (or count of matching events) ever
 * reached counts, so falling and rising again earns nothing twice. `counts`: peaks by trigger, of triggers that count themselves.
 */
export function multiplesCrossed(
  trigger: PlanTrigger,
  user: User,
  { total, counts }: { total: Peaks | null; counts: ReadonlyMap<number, Peaks> },
): number {
  const peaks = trigger.counted === true ? counts.get(trigger.no) : total;
  if (peaks === undefined || peaks === null || peaks.before === peaks.after || !holds(trigger.users, user)) return 0;
  const { threshold } = trigger;
  return Math.floor(peaks.after / threshold!) - Math.floor(peaks.before / threshold!);
}

/**
 * The out-of-points check before anything is paid. Returns the number of the first blocking metric trigger whose deduction, together
 * with the others of its system, would take the balance below zero; `null` if the balance suffices.
 */
export function blockedBy(
  ledgers: readonly Ledger[],
  user: User,
  peaks: { total: Peaks | null; counts: ReadonlyMap<number, Peaks> },
): number | null {
  for (const ledger of ledgers) {
    for (const trigger of ledger.system.metric) {
      const times = trigger.blocks === true ? multiplesCrossed(trigger, user, peaks) : 0;
      if (times === 0 || trigger.points >= 0) continue;
      ledger.left += trigger.points * times;
      if (ledger.left < 0) return trigger.no;
    }
  }
  return null;
}

/** What triggers react to in one change of a user. */
export interface Occasion {
  /** The user's local day, on which awards are dated. */
  day: number;
  total: Peaks | null;
  counts: ReadonlyMap<number, Peaks>;
  /** Lengths that the streak of the configured frequency reached, and those that it had reached before a late event. */
  reached: { is: readonly number[]; was: readonly number[] };
  /** Numbers of the achievements completed. */
  completed: readonly number[];
}

/** A trigger that pays, and how often. */
interface Firing {
  trigger: PlanTrigger;
  times: number;
}

/** The triggers of a system that react to an occasion, in the order in which they pay. */
export function firings({ metric, streak, achievement }: PlanSystem, user: User, occasion: Occasion): Firing[] {
  const fired: Firing[] = [];
  for (const trigger of metric) {
    const times = multiplesCrossed(trigger, user, occasion);
    if (times > 0) fired.push({ trigger, times });
  }
  for (const trigger of streak)
    if (reachesMultiple(occasion.reached, trigger.length!) && holds(trigger.users, user))
      fired.push({ trigger, times: 1 });
  for (const trigger of achievement)
    for (const no of occasion.completed)
      if (no === trigger.achievement && holds(trigger.users, user)) fired.push({ trigger, times: 1 });
  return fired;
}

/**
 * Pays metric, streak, achievement and levels of every system. Returns the number of a blocking trigger that the balance cannot pay;
 * `null` if all were paid.
 */
export function fireTriggers(ledgers: readonly Ledger[], user: User, occasion: Occasion): number | null {
  for (const ledger of ledgers)
    for (const { trigger, times } of firings(ledger.system, user, occasion)) {
      // `blockedBy` has counted the metric triggers.
      if (!ledger.system.metric.includes(trigger) && !covers(ledger, trigger, 1)) return trigger.no;
      award(ledger, trigger, { times, user, day: occasion.day });
    }
  return payLevels(ledgers, user, occasion.day);
}

/** Pays for the levels that the change newly reached. Returns the number of a blocking trigger that the balance cannot pay, or `null`. */
function payLevels(ledgers: readonly Ledger[], user: User, day: number): number | null {
  const levels: ReachedLevels<Ledger> = {
    has: (no) => (user.paidMs.get(no) ?? 0) > 0,
    add: (no, { nowMs }) => user.paidMs.set(no, nowMs),
  };
  return climbLevels(ledgers, user, levels, (ledger, trigger, times) => {
    if (!covers(ledger, trigger, times)) return false;
    award(ledger, trigger, { times, user, day });
    return true;
  });
}

/** The levels that a user has reached, by number. */
export interface ReachedLevels<L> {
  /** Also true for a level from which the total has fallen since. */
  has(no: number): boolean;
  add(no: number, ledger: L): unknown;
}

/**
 * Goes through the levels that totals have reached since `before`, then through those that the awards reach in turn. A user reaches
 * each level once, so this ends. `pay` pays a trigger a number of times; if it returns false, the number of that trigger is returned.
 */
export function climbLevels<L extends { system: PlanSystem; before: number; total: number }>(
  ledgers: readonly L[],
  user: User,
  levels: ReachedLevels<L>,
  pay: (ledger: L, trigger: PlanTrigger, times: number) => boolean,
): number | null {
  const triggers = ledgers.flatMap((ledger) => (ledger.system.level ?? []).map((trigger) => ({ ledger, trigger })));
  if (triggers.length === 0) return null;
  const watched = new Map(ledgers.map((ledger) => [ledger.system.no, ledger]));
  for (;;) {
    const reached = new Map<number, L>();
    for (const { trigger } of triggers) {
      const ledger = watched.get(trigger.watched!);
      if (ledger === undefined || ledger.total <= ledger.before) continue;
      for (const { no, points } of trigger.levels!)
        if (points > ledger.before && points <= ledger.total && !levels.has(no)) reached.set(no, ledger);
    }
    if (reached.size === 0) return null;
    for (const [no, ledger] of reached) levels.add(no, ledger);
    for (const { ledger, trigger } of triggers) {
      const times = trigger.levels!.filter(({ no }) => reached.has(no)).length;
      if (times > 0 && holds(trigger.users, user) && !pay(ledger, trigger, times)) return trigger.no;
    }
  }
}

/**
 * Notes that a reversal takes back what some changes awarded for levels, or gives it again. A level that was taken back can be reached
 * again; its time is negated, so that the opposite reversal finds it, in any order of reversals.
 */
export function reverseLevels(
  { paidMs }: User,
  systems: readonly PlanSystem[],
  { awards, voids }: { awards: readonly { trigger: number; atMs: number }[]; voids: boolean },
): void {
  for (const { level = [] } of systems)
    for (const { no: trigger, levels } of level)
      for (const award of awards) {
        const time = voids ? award.atMs : 0 - award.atMs;
        if (award.trigger === trigger)
          for (const { no } of levels!) if (paidMs.get(no) === time) paidMs.set(no, 0 - time);
      }
}

/** Notes which levels a user has, for triggers (by number) of which a recomputation gave or took points. */
export function recomputeLevels(
  { paidMs, points }: User,
  systems: readonly PlanSystem[],
  triggers: ReadonlySet<number>,
  nowMs: number,
): void {
  for (const { no: trigger, watched, levels } of systems.flatMap(({ level = [] }) => level)) {
    if (!triggers.has(trigger)) continue;
    for (const level of levels!) {
      const isReached = (points.get(watched!) ?? 0) >= level.points;
      if (!isReached) paidMs.delete(level.no);
      else if ((paidMs.get(level.no) ?? 0) <= 0) paidMs.set(level.no, nowMs);
    }
  }
}

/** Takes what a blocking trigger deducts from what may be spent. Returns whether that sufficed. */
function covers(ledger: Ledger, { blocks, points }: PlanTrigger, times: number): boolean {
  if (blocks !== true || points >= 0) return true;
  ledger.left += points * times;
  return ledger.left >= 0;
}

/** Whether a streak reached multiples of a length more often than before. */
function reachesMultiple({ is, was }: Occasion['reached'], length: number): boolean {
  const multiples = (lengths: readonly number[]): number => lengths.filter((each) => each % length === 0).length;
  return multiples(is) > multiples(was);
}

/**
 * Pays the `time` triggers (by number) whose period ended at a time, if the user meets their conditions. Skips those that are already
 * paid up to that time. `day`: the user's local day then. Returns whether anything was paid.
 */
export function payForTime(
  ledgers: readonly Ledger[],
  user: User,
  { triggers, dueMs, day }: { triggers: readonly number[]; dueMs: number; day: number },
): boolean {
  let paid = false;
  for (const ledger of ledgers) {
    for (const trigger of ledger.system.time ?? []) {
      const { no, users } = trigger;
      if (!triggers.includes(no) || dueMs <= (user.paidMs.get(no) ?? 0) || !holds(users, user)) continue;
      const awards = ledger.awards.length;
      award(ledger, trigger, { times: 1, user, day });
      if (ledger.awards.length === awards) continue;
      user.paidMs.set(no, dueMs);
      paid = true;
    }
  }
  if (paid) payLevels(ledgers, user, day);
  return paid;
}
