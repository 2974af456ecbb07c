import type { Decimal } from '../domain/decimal.ts';
import {
  daysOffFrom,
  FREQUENCIES,
  type Frequency,
  isOnWeekday,
  localDay,
  type OwnDaysOff,
  ownDaysOff,
  periodOf,
  periodStart,
  type WeekStart,
} from '../domain/periods.ts';
import {
  type EarlierSettlementRule,
  type FreezeGain,
  type SettledStreaks,
  type Settlement,
  settleStreaks,
  type StreakSettlementRule,
} from '../domain/streaks/settle.ts';
import type { StreakAsLeft } from '../domain/streaks/streak.ts';
import type { PlanSettling, PlanStreak } from './plan.ts';
import { addTo, reaches } from './sums.ts';
import type { OwnStreakRule, Streak, Threshold, User } from './user.ts';

/*
 * Streaks: how an event extends them, and how they live through midnights and changes of time zone. All three frequencies are
 * tracked at once, so that another configured frequency shows its true streak. `domain/streaks/settle.ts` has the rule for midnights.
 */

/** The user's local day, with its week and month: a row of a plan's periods. */
export interface LocalDay {
  day: number;
  week: number;
  month: number;
  weekStart: number;
  monthStart: number;
}

export function localDayOf(
  { periods, firstDay }: { periods: readonly (readonly number[])[]; firstDay: number },
  day: number,
): LocalDay {
  const [, week, month, , weekStart, monthStart] = periods[day - firstDay]! as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return { day, week, month, weekStart, monthStart };
}

/** The same for any local day. */
export function localDayIn(day: number, weekStart: WeekStart): LocalDay {
  const [week, month] = [periodOf(day, 'weekly', weekStart), periodOf(day, 'monthly', weekStart)];
  return {
    day,
    week,
    month,
    weekStart: periodStart(week, 'weekly', weekStart),
    monthStart: periodStart(month, 'monthly', weekStart),
  };
}

/** The period of a local day. */
export const periodIn = (row: LocalDay, frequency: Frequency): number =>
  frequency === 'daily' ? row.day : frequency === 'weekly' ? row.week : row.month;

/** The first day of that period. */
export const firstDayIn = (row: LocalDay, frequency: Frequency): number =>
  frequency === 'daily' ? row.day : frequency === 'weekly' ? row.weekStart : row.monthStart;

export const frequencyOf = ({ frequency }: Pick<PlanSettling, 'frequency'>): Frequency => FREQUENCIES[frequency - 1]!;

/** What the clock and changes of zone did to a user's streaks since they were last settled. */
export interface Settlements {
  /** Days excused, and streaks that were lost. */
  streaks: Settlement[];
  beside: BesideStreaks[];
}

/** Freezes that the user got on a day, or a change of zone that moved the user's current day forward. */
export type BesideStreaks = (FreezeGain & { kind: 'earned' | 'given' }) | { kind: 'moved'; from: number; to: number };

/** The results of two settlements, in order; `null` for nothing. */
export function joinSettlements(first: Settlements | null, after: Settlements | null): Settlements | null {
  if (first === null || after === null) return first ?? after;
  return { streaks: [...first.streaks, ...after.streaks], beside: [...first.beside, ...after.beside] };
}

/** The zone's previous offset (seconds) and its end of validity (epoch ms), if the offset has just changed. */
export interface LeftOffset {
  offsetSeconds: number | null;
  untilMs: number | null;
}

/** The user's local day at an earlier time. */
function dayAt(user: User, atMs: number, left: LeftOffset | null): number {
  const isBefore = left !== null && left.untilMs !== null && atMs < left.untilMs;
  return localDay(atMs, (isBefore ? left.offsetSeconds : user.offsetSeconds) ?? 0);
}

/** Converts a time (epoch ms) to the user's local day. */
type DayAt = (ms: number) => number;

/** Whether a user's daily streak survives a day without activity. The settings at the day's beginning decide. */
export function isDayOff(own: OwnDaysOff | null, rule: PlanStreak, day: number, dayAt: DayAt): boolean {
  const inForce: PlanSettling = rule.before?.find(({ ends }) => dayAt(ends) >= day) ?? rule;
  const set = (inForce.own === true ? ownDaysOff(own, day) : null) ?? inForce.off;
  return set !== undefined && isOnWeekday(set, day);
}

/** The first day of the week, from the first day of week 0. */
const weekStartOf = (firstOfWeek0: number): WeekStart => (firstOfWeek0 === 3 ? 'sunday' : 'monday');

/** The first day of the weeks of a row. */
export const weekStartIn = ({ week, weekStart }: LocalDay): WeekStart => weekStartOf(weekStart - week * 7);

export const settlementRule = (rule: PlanSettling, weekStart: WeekStart): StreakSettlementRule => ({
  frequency: frequencyOf(rule),
  weekStart,
  frozen: rule.frozen === true,
  earning: rule.earn ?? null,
});

/** An earlier rule, with the last local day that began under it. */
export const earlierRule = (
  { week, ...rule }: NonNullable<PlanStreak['before']>[number],
  dayAt: DayAt,
): EarlierSettlementRule => ({ ...settlementRule(rule, weekStartOf(week)), lastDay: dayAt(rule.ends) });

/**
 * Settles a user's streaks up to a local day. Streaks whose periods were not met use days off, pauses and freezes, or end, and
 * freezes are earned. A day before the streaks' day (a late event, a zone further west) changes nothing. `left`: see `LeftOffset`.
 * Returns `null` if nothing happened, which costs a few comparisons.
 */
export function settleUser(
  user: User,
  rule: PlanStreak,
  row: LocalDay,
  left: LeftOffset | null = null,
): Settlements | null {
  const settled = needsSettling(user, rule, row, left) ? settle(user, rule, row, left) : null;
  if (user.pauses.length > 0) dropPauses(user, row);
  return settled;
}

function needsSettling(user: User, rule: PlanStreak, row: LocalDay, left: LeftOffset | null): boolean {
  for (const frequency of FREQUENCIES) {
    const { length, lastPeriod } = user.streaks[frequency];
    if (length > 0 && (lastPeriod ?? -1) < periodIn(row, frequency) - 1) return true;
  }
  if (rule.before?.some(({ ends }) => isUnsettled(user, ends)) === true) return true;
  if (rule.earn === undefined) return false;
  const [interval, , , sinceMs] = rule.earn;
  if (user.earnedDay === null || row.day - user.earnedDay >= interval) return true;
  return seenMs(user) < sinceMs && user.earnedDay < dayAt(user, sinceMs, left);
}

/** Whether earlier settings, which ended at a time, still concern a user. */
const isUnsettled = ({ updatedMs, settledMs }: Pick<User, 'updatedMs' | 'settledMs'>, ends: number): boolean =>
  ends >= updatedMs && ends > (settledMs ?? 0);

/** When this installation first saw a user. */
export const seenMs = ({ importedMs, createdMs }: Pick<User, 'importedMs' | 'createdMs'>): number =>
  importedMs ?? createdMs;

/** What a user's streaks depend on. */
type SettledUser = Pick<
  User,
  'createdMs' | 'importedMs' | 'updatedMs' | 'settledMs' | 'freezes' | 'earnedDay' | 'daysOff'
> & { streaks: Readonly<Record<Frequency, StreakAsLeft>>; pauses: readonly { from: number; to: number }[] };

const unsettledBefore = (user: Pick<User, 'updatedMs' | 'settledMs'>, { before = [] }: PlanStreak) =>
  before.filter(({ ends }) => isUnsettled(user, ends));

/** A user's streaks on a local day. The user stays unchanged. */
export const settledStreaks = (user: SettledUser, rule: PlanStreak, row: LocalDay, dayAt: DayAt): SettledStreaks =>
  settleStreaks(
    {
      createdMs: seenMs(user),
      dayAt,
      streaks: user.streaks,
      freezes: user.freezes,
      earnedDay: user.earnedDay,
      pauses: user.pauses,
      isDayOff: (day) => isDayOff(user.daysOff, rule, day, dayAt),
    },
    settlementRule(rule, weekStartIn(row)),
    row.day,
    // Activity at the very moment of a change came before the end of the earlier rule.
    unsettledBefore(user, rule).map((one) => ({ ...earlierRule(one, dayAt), settled: one.ends <= user.updatedMs })),
  );

function settle(user: User, rule: PlanStreak, row: LocalDay, left: LeftOffset | null): Settlements | null {
  const dayThen = (ms: number): number => dayAt(user, ms, left);
  const before = unsettledBefore(user, rule);
  const settled = settledStreaks(user, rule, row, dayThen);
  for (const frequency of FREQUENCIES) Object.assign(user.streaks[frequency], settled.streaks[frequency]);
  user.freezes = settled.freezes;
  user.earnedDay = settled.earnedDay;
  for (const { ends } of before) {
    if (dayThen(ends) > row.day) break;
    user.settledMs = ends;
  }
  const { settlements: streaks, gains } = settled;
  if (streaks.length === 0 && gains.length === 0) return null;
  return { streaks, beside: gains.map((gain) => ({ kind: 'earned', ...gain })) };
}

/** A pause matters until the month and the week in which it ends have passed, on whichever day weeks begin. */
function dropPauses(user: User, { day, monthStart }: LocalDay): void {
  const needed = Math.min(day - 7, monthStart);
  const firstNeeded = user.pauses.findIndex(({ to }) => to >= needed);
  if (firstNeeded !== 0) user.pauses = firstNeeded === -1 ? [] : user.pauses.slice(firstNeeded);
}

/**
 * Moves streaks, settled in the old zone, to a later local day. Such a change of zone ends no streak and does not count one day as
 * two: the current day becomes the new day, with its progress and its distance to the last met day. From a week or month that is
 * left, only what the streak needs to survive is kept: a week met before the journey does not count as the next one met.
 */
export function moveStreaks({ streaks }: Pick<User, 'streaks'>, before: LocalDay, after: LocalDay): void {
  for (const frequency of FREQUENCIES) {
    const streak = streaks[frequency];
    const moved = periodIn(after, frequency) - periodIn(before, frequency);
    if (moved <= 0) continue;
    const last = streak.lastPeriod ?? -1;
    if (streak.length > 0) {
      const lastMet = frequency === 'daily' ? Math.min(last + moved, after.day) : periodIn(after, frequency) - 1;
      streak.lastPeriod = Math.max(last, lastMet);
    }
    if (frequency === 'daily' && streak.currentPeriod === before.day) streak.currentPeriod = after.day;
  }
}

/** What meets a period: every metric's threshold, or one of them; without metrics, any positive value. */
export interface MeetingRule {
  on: boolean;
  all: boolean;
  metrics: readonly Threshold[];
}

const thresholdOf = ([metric, whole, micros]: readonly [number, number, number]): Threshold => ({
  metric,
  whole,
  micros,
});

/**
 * The rule that applies to a user: the tenant's, with the user's preferences. Users may always switch their streak off; their other
 * preferences count only with personalisation. Preferences for deleted metrics are ignored.
 */
export function meetingRule(rule: PlanStreak, own: OwnStreakRule | null): MeetingRule {
  const on = rule.on && own?.enabled !== false;
  const metrics = rule.metrics.map(thresholdOf);
  if (own === null || rule.personal === undefined) return { on, all: rule.all, metrics };
  const { personal } = rule;
  const chosen = own.metrics.filter(({ metric }) => personal.includes(metric));
  return { on, all: own.all ?? rule.all, metrics: chosen.length > 0 ? chosen : metrics };
}

/** An event's value, and when it happened. `occurredMs`: sent with the event; `null`: now. */
export interface CountedEvent {
  metric: number;
  value: Decimal;
  nowMs: number;
  occurredMs: number | null;
}

/**
 * Adds an event to the current periods of settled streaks, and extends those whose period it meets. Returns the frequencies whose
 * streak was extended.
 */
export function extendStreaks(user: User, plan: PlanStreak, row: LocalDay, event: CountedEvent): Frequency[] {
  const rule = meetingRule(plan, user.streakRule);
  const extended: Frequency[] = [];
  if (!rule.on) return extended;
  // If any value meets a period, an event in a met period changes nothing. Most events are of this kind.
  const anyMeets = rule.metrics.length === 0 && event.occurredMs === null;
  for (const frequency of FREQUENCIES) {
    const streak = user.streaks[frequency];
    const period = periodIn(row, frequency);
    if (anyMeets && streak.lastPeriod === period && streak.currentPeriod === period) continue;
    if (extendStreak(streak, rule, event, { period, firstDay: firstDayIn(row, frequency) })) extended.push(frequency);
  }
  // A streak that begins on a day repeated by a journey west also covers the days before it.
  const { currentPeriod } = user.streaks.daily;
  if (extended.includes('daily') && user.begunDay !== null && currentPeriod! < user.begunDay)
    user.begunDay = currentPeriod;
  return extended;
}

/**
 * Adds an event to a streak's current period. Returns whether the streak grew. A period before the current one (a late event, a zone
 * further west) starts nothing new. A period that was met stays met. Without metrics, the earliest event extends the streak.
 */
export function extendStreak(
  streak: Streak,
  rule: MeetingRule,
  event: CountedEvent,
  current: { period: number; firstDay: number },
): boolean {
  if ((streak.currentPeriod ?? -1) < current.period) {
    streak.currentPeriod = current.period;
    if (streak.sums.size > 0) streak.sums = new Map();
  }
  const period = streak.currentPeriod!;
  if (!meets(streak, rule, event)) return false;
  if ((streak.lastPeriod ?? -1) >= period) {
    // The event happened before the one that extended the streak, so it would have extended it itself.
    if (event.occurredMs !== null && rule.metrics.length === 0 && streak.lastPeriod === period)
      streak.extendedMs = Math.min(streak.extendedMs ?? -1, event.occurredMs);
    return false;
  }
  if (streak.length === 0) streak.startDay = current.firstDay;
  streak.length += 1;
  streak.lastPeriod = period;
  streak.extendedMs = event.occurredMs ?? event.nowMs;
  return true;
}

/** Adds an event to the period's sums. Returns whether the period is met. */
function meets(streak: Streak, { all, metrics }: MeetingRule, { metric: counted, value }: CountedEvent): boolean {
  if (metrics.length === 0) return value.whole > 0 || value.micros > 0;
  let reached = 0;
  for (const threshold of metrics) {
    const { metric } = threshold;
    if (metric === counted) {
      const sum = streak.sums.get(metric);
      if (sum === undefined) streak.sums.set(metric, { ...value });
      else addTo(sum, value);
    }
    const sum = streak.sums.get(metric);
    if (sum !== undefined && reaches(sum, threshold)) reached += 1;
  }
  return all ? reached === metrics.length : reached > 0;
}

/** Number of days off that directly follow the day by which the user must act; 0 without a daily streak. */
export function daysOffAhead(
  { streaks, daysOff }: { streaks: { daily: StreakAsLeft } } & Pick<User, 'daysOff'>,
  rule: PlanStreak,
  day: number,
  dayThen: DayAt,
): number {
  const { length, lastPeriod } = streaks.daily;
  const mayBeOff = rule.off !== undefined || rule.own === true || rule.before !== undefined;
  if (!mayBeOff || length === 0 || frequencyOf(rule) !== 'daily') return 0;
  return daysOffFrom(Math.max((lastPeriod ?? -1) + 1, day), (each) => isDayOff(daysOff, rule, each, dayThen));
}
