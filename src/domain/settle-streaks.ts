import { periodEnd, periodOf, periodStart, type Frequency, type WeekStart } from './periods.ts';
import type { StreakAsLeft } from './streak.ts';

/*
 * What the clock does to streaks. The rule is applied on read (here), and on event, call and sweep
 * (`lua/lib/streaks.lua`, line for line the same; `test/lua/settle-streaks.test.ts` compares them). It goes by the
 * local days alone, so it does not matter when it is applied, nor how often:
 *
 * - At the local midnight after a period that was not met, a streak that has a length
 *   1. is kept, in the daily frequency, if the day is a day off;
 *   2. else is kept if every day of the period is inside a pause (of one or of several); a day that is not ends the cover;
 *   3. else, in the configured frequency, uses a freeze if one is left;
 *   4. else ends. An ended streak uses nothing.
 * - A freeze that is earned at that very midnight comes after: the day that ended could not use it.
 * - The other two frequencies are tracked with the same pauses, without freezes.
 * - It makes no difference whether streaks are switched off, for all or for one user: they are not extended then, and
 *   what was not met is settled as ever.
 * - A change of the settings counts from when it is made: each midnight goes by the settings of its time, but which days
 *   are days off by those of when the day began (`isDayOff`). Where weeks begin
 *   a day earlier or later from then on, each goes on as the same week, with what was done in it; where they begin a day
 *   earlier on their last day, that week was not missed, for no midnight ended it.
 */

export const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const satisfies Frequency[];

export interface StreakSettlementRule {
  frequency: Frequency;
  weekStart: WeekStart;
  /** Whether freezes are used. */
  frozen: boolean;
  /** Interval in days, amount, maximum, since when it is so (epoch ms); null: nothing is earned. */
  earning: readonly [number, number, number, number] | null;
}

/**
 * A previous rule, with the last local day of the user that began under it. `settled`: all is settled by it, up to the
 * moment in which it was replaced.
 */
export type EarlierSettlementRule = StreakSettlementRule & { lastDay: number; settled?: boolean };

/** What a user's state says of streaks. */
export interface StreaksAsLeft {
  /** When the user was first seen here: created, or imported with an `earnedDay`. */
  createdMs: number;
  /** The user's local day at a time (epoch ms). */
  dayAt: (ms: number) => number;
  streaks: Record<Frequency, StreakAsLeft>;
  freezes: number;
  earnedDay: number | null;
  /** By first day. */
  pauses: readonly { from: number; to: number }[];
  /** Whether a local day needs nothing for the daily streak. */
  isDayOff: (day: number) => boolean;
}

export type SettlementKind = 'freeze' | 'pause' | 'lost' | 'restored' | 'replaced' | 'off' | 'reset';

/**
 * Something that became of a streak: days that a freeze or pause excused, or that were days off; a streak lost or reset,
 * with its days and length, or restored, or replaced by one that was restored.
 */
export interface Settlement {
  frequency: Frequency;
  kind: SettlementKind;
  /** First and last day (epoch days). */
  from: number;
  to: number;
  /** Of the streak that was lost, reset, restored or replaced. */
  length: number | null;
  /** Of what is stored: when it happened, epoch ms. */
  atMs?: number;
}

/** Freezes that were earned on a local day (epoch day). */
export interface FreezeGain {
  day: number;
  count: number;
}

export interface SettledStreaks {
  streaks: Record<Frequency, StreakAsLeft>;
  freezes: number;
  /** The day from which the next interval of earning counts; null: nothing was ever earned. */
  earnedDay: number | null;
  gains: FreezeGain[];
  /** In the order of the periods, by frequency. */
  settlements: Settlement[];
}

/**
 * The streaks of a user as they are on a local day, and what became of them since they were left. Pure.
 * @param earlier the rules before this one, oldest first
 */
export function settleStreaks(
  left: StreaksAsLeft,
  rule: StreakSettlementRule,
  day: number,
  earlier: readonly EarlierSettlementRule[] = [],
): SettledStreaks {
  const settled: Settling = { ...left, streaks: { ...left.streaks }, settlements: [], gains: [] };
  for (const [index, one] of earlier.entries()) {
    if (one.settled !== true) settleBy(settled, one, Math.min(day, one.lastDay));
    if (one.lastDay > day) return settled;
    const { weekStart } = earlier[index + 1] ?? rule;
    beginWeeks(settled, periodOf(one.lastDay, 'weekly', weekStart));
  }
  settleBy(settled, rule, day);
  return settled;
}

/** What is being settled: changed in place. */
type Settling = StreaksAsLeft & SettledStreaks;

/** Weeks begin on another day from one on that is in this week. */
function beginWeeks({ streaks }: Settling, week: number): void {
  const { length, lastPeriod } = streaks.weekly;
  if (length > 0 && (lastPeriod ?? -1) < week - 1) streaks.weekly = { ...streaks.weekly, lastPeriod: week - 1 };
}

function settleBy(purse: Settling, rule: StreakSettlementRule, day: number): void {
  const { streaks, settlements } = purse;
  for (const frequency of FREQUENCIES) {
    const current = periodOf(day, frequency, rule.weekStart);
    const streak = streaks[frequency];
    if (streak.length === 0 || streak.startDay === null || (streak.lastPeriod ?? -1) >= current - 1) continue;
    streaks[frequency] = settleGap(streak, { purse, rule, frequency, current, settlements });
  }
  if (rule.earning !== null) earnFreezes(purse, rule.earning, day);
}

function settleGap(
  streak: StreakAsLeft,
  {
    purse,
    rule,
    frequency,
    current,
    settlements,
  }: {
    purse: Settling;
    rule: StreakSettlementRule;
    frequency: Frequency;
    current: number;
    settlements: Settlement[];
  },
): StreakAsLeft {
  const counts = frequency === rule.frequency;
  let lastPeriod = streak.lastPeriod ?? -1;
  const used = (kind: SettlementKind, from: number, to: number): void => {
    const before = settlements.at(-1);
    if (before?.frequency === frequency && before.kind === kind && before.to === from - 1) before.to = to;
    else settlements.push({ frequency, kind, from, to, length: null });
  };
  while (lastPeriod < current - 1) {
    const from = periodStart(lastPeriod + 1, frequency, rule.weekStart);
    const to = periodEnd(lastPeriod + 1, frequency, rule.weekStart);
    if (counts && rule.earning !== null) earnFreezes(purse, rule.earning, to);
    if (frequency === 'daily' && purse.isDayOff(from)) used('off', from, to);
    else if (isPaused(purse.pauses, from, to)) used('pause', from, to);
    else if (counts && rule.frozen && purse.freezes > 0) {
      purse.freezes -= 1;
      used('freeze', from, to);
    } else {
      settlements.push({ frequency, kind: 'lost', from: streak.startDay ?? from, to: from - 1, length: streak.length });
      return { ...streak, length: 0, startDay: null, lastPeriod };
    }
    lastPeriod += 1;
  }
  return { ...streak, lastPeriod };
}

/** Whether every day from one to another is inside a pause. */
function isPaused(pauses: StreaksAsLeft['pauses'], from: number, to: number): boolean {
  let day = from;
  for (const pause of pauses) if (pause.from <= day && pause.to >= day) day = pause.to + 1;
  return day > to;
}

/** Gives the freezes earned up to a day. A user from before earning was set so counts from the day on which it was. */
function earnFreezes(
  purse: Settling,
  [interval, amount, max, sinceMs]: readonly [number, number, number, number],
  day: number,
): void {
  const { createdMs, earnedDay, dayAt } = purse;
  const from = createdMs < sinceMs ? Math.max(earnedDay ?? 0, dayAt(sinceMs)) : (earnedDay ?? dayAt(createdMs));
  const times = Math.max(0, Math.floor((day - from) / interval));
  purse.earnedDay = from + times * interval;
  for (let time = 1; time <= times && purse.freezes < max; time++) {
    const count = Math.min(amount, max - purse.freezes);
    purse.freezes += count;
    purse.gains.push({ day: from + time * interval, count });
  }
}
