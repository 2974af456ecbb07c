import { FREQUENCIES, type Frequency, periodEnd, periodOf, periodStart, type WeekStart } from '../periods.ts';
import type { StreakAsLeft } from './streak.ts';

/*
 * How streaks change when local midnights pass. Reads and all changes of users apply this rule (`settleUser` in
 * `src/rules/streaks.ts`). The result depends only on the user's local days, so it does not matter when or how often the rule runs.
 *
 * At the local midnight after a period that was not met, a streak longer than 0
 * 1. is kept if the frequency is daily and the day is a day off;
 * 2. otherwise is kept if pauses cover every day of the period (several pauses may combine);
 * 3. otherwise, in the configured frequency, uses a freeze if one is left;
 * 4. otherwise ends. A streak that ends uses no freeze.
 *
 * - A freeze earned at that same midnight is added afterwards; the day that ended cannot use it.
 * - The other two frequencies use the same pauses but no freezes.
 * - Switching streaks off, for everyone or for one user, stops extensions only. Missed periods are still settled.
 * - Changed settings apply from the moment of the change: each midnight uses the settings in force at that midnight.
 *   Days off are the exception: they follow the settings in force when the day began (`isDayOff`).
 * - When the first day of the week changes, the current week continues with its progress. If the change makes a week begin
 *   one day earlier, on its last day, that week does not count as missed: no midnight ended it.
 */

export interface StreakSettlementRule {
  frequency: Frequency;
  weekStart: WeekStart;
  frozen: boolean;
  /** Interval in days, amount, maximum, and when earning was configured (epoch ms); `null` if users earn no freezes. */
  earning: readonly [number, number, number, number] | null;
}

/** A previous rule and the last local day under it. `settled`: streaks are settled up to its end. */
export type EarlierSettlementRule = StreakSettlementRule & { lastDay: number; settled?: boolean };

export interface StreaksAsLeft {
  /** When this installation first saw the user: at creation, or at an import that sets `earnedDay`. */
  createdMs: number;
  /** Converts a time (epoch ms) to the user's local day. */
  dayAt: (ms: number) => number;
  streaks: Record<Frequency, StreakAsLeft>;
  freezes: number;
  earnedDay: number | null;
  /** Sorted by first day. */
  pauses: readonly { from: number; to: number }[];
  /** Whether the daily streak survives this local day without activity. */
  isDayOff: (day: number) => boolean;
}

export type SettlementKind = 'freeze' | 'pause' | 'lost' | 'restored' | 'replaced' | 'off' | 'reset';

/** A change to a streak: days excused, or a streak that was lost, reset, restored or replaced. */
export interface Settlement {
  frequency: Frequency;
  kind: SettlementKind;
  /** First and last day (epoch days). */
  from: number;
  to: number;
  /** Length of the streak that was lost, reset, restored or replaced. */
  length: number | null;
  /** When it happened (epoch ms); set on stored settlements. */
  atMs?: number;
}

export interface FreezeGain {
  day: number;
  count: number;
}

export interface SettledStreaks {
  streaks: Record<Frequency, StreakAsLeft>;
  freezes: number;
  /** The day from which the next earning interval counts; `null` if no freeze was ever earned. */
  earnedDay: number | null;
  gains: FreezeGain[];
  /** Grouped by frequency, in the order of the periods. */
  settlements: Settlement[];
}

/** A user's streaks on a local day, and the changes since the last settlement. Pure. `earlier`: oldest first. */
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

type Settling = StreaksAsLeft & SettledStreaks;

/** Carries a weekly streak over a change of the first day of the week; `week` is the current week under the new rule. */
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
  gap: {
    purse: Settling;
    rule: StreakSettlementRule;
    frequency: Frequency;
    current: number;
    settlements: Settlement[];
  },
): StreakAsLeft {
  const { purse, rule, frequency, current, settlements } = gap;
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

function isPaused(pauses: StreaksAsLeft['pauses'], from: number, to: number): boolean {
  let day = from;
  for (const pause of pauses) if (pause.from <= day && pause.to >= day) day = pause.to + 1;
  return day > to;
}

/** Adds the freezes earned up to a day. Users older than the earning settings earn from the day of those settings. */
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

/**
 * The first local day (epoch day) whose beginning may end one of a user's streaks or use a freeze or pause: the day after the
 * period in which the user must act. `null` if every streak has length 0. Weeks count from Sunday, the earlier start, so the
 * result may be a day early for weekly streaks.
 * @param streaks daily, weekly, monthly
 */
export function streakDueDay(streaks: readonly { length: number; lastPeriod: number }[]): number | null {
  let due: number | null = null;
  // Allocates no arrays: the persister calls this for every second event.
  for (let index = 0; index < FREQUENCIES.length; index += 1) {
    const streak = streaks[index];
    if (streak === undefined || streak.length === 0) continue;
    const day = periodStart(streak.lastPeriod + 2, FREQUENCIES[index]!, 'sunday');
    if (due === null || day < due) due = day;
  }
  return due;
}
