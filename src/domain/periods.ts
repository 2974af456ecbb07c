/**
 * Calendar rules. A local day is an epoch day: days since 1970-01-01 in the user's local calendar. A period is the index of a
 * local day, week or month. Plans contain these numbers, so the rules of events need no calendar.
 */

export const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const;
export type Frequency = (typeof FREQUENCIES)[number];
export type WeekStart = 'sunday' | 'monday';

export const DAY_MS = 86_400_000;

export interface Days {
  fromDay: number;
  toDay: number;
}

export const dayOf = (date: string): number => Date.parse(`${date}T00:00:00Z`) / DAY_MS;

/** Epoch day of an instant, by UTC. */
export const epochDay = (ms: number): number => Math.floor(ms / DAY_MS);

/** An instant (epoch ms) in the form of answers and payloads. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

export const isoTimeOrNull = (ms: number | null | undefined): string | null =>
  ms === null || ms === undefined ? null : isoTime(ms);

const MOST_DATES = 4_096;
const dates = new Map<number, string>();

/** `YYYY-MM-DD`. Remembered, because an answer has a dozen dates and all answers of a day the same ones. */
export function dateOf(day: number): string {
  let date = dates.get(day);
  if (date === undefined) {
    date = new Date(day * DAY_MS).toISOString().slice(0, 10);
    if (dates.size >= MOST_DATES) dates.clear();
    dates.set(day, date);
  }
  return date;
}

/** Epoch day of an instant at an offset from UTC. */
export const localDay = (nowMs: number, offsetSeconds: number): number => epochDay(nowMs + offsetSeconds * 1000);

/** The last zone in which a day begins and ends, UTC-12. */
const LAST_ZONE_SECONDS = -12 * 3_600;

/** The day (epoch day) that it still is in the last zone: no user's local day is earlier. */
export const earliestLocalDay = (nowMs: number): number => localDay(nowMs, LAST_ZONE_SECONDS);

/** Whether text is `YYYY-MM-DD` and names an existing day. */
export const isDate = (date: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(date) && !Number.isNaN(dayOf(date)) && dateOf(dayOf(date)) === date;

// 1970-01-01 was a Thursday: day 3 is the first Sunday, day 4 the first Monday.
const firstWeekDay = (weekStart: WeekStart): number => (weekStart === 'sunday' ? 3 : 4);

/** Index of the period that contains a local day. Consecutive periods have consecutive indexes. */
export function periodOf(day: number, frequency: Frequency, weekStart: WeekStart): number {
  if (frequency === 'daily') return day;
  if (frequency === 'weekly') return Math.floor((day - firstWeekDay(weekStart)) / 7);
  const date = new Date(day * DAY_MS);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** First day (epoch day) of a period. */
export function periodStart(period: number, frequency: Frequency, weekStart: WeekStart): number {
  if (frequency === 'daily') return period;
  if (frequency === 'weekly') return period * 7 + firstWeekDay(weekStart);
  return Date.UTC(Math.floor(period / 12), period % 12, 1) / DAY_MS;
}

export const periodEnd = (period: number, frequency: Frequency, weekStart: WeekStart): number =>
  periodStart(period + 1, frequency, weekStart) - 1;

/*
 * Days off of daily streaks: weekdays that need no activity and end no streak. Plans and states store weekdays as a bit set, 0 =
 * Sunday to 6.
 */

const WEEKDAYS = [0, 1, 2, 3, 4, 5, 6] as const;
/** 1970-01-01 was a Thursday. */
const FIRST_WEEKDAY = 4;

export const weekdaySet = (weekdays: readonly number[]): number =>
  weekdays.reduce((set, weekday) => set | (1 << weekday), 0);

/** The weekdays in a set, ascending. */
export const weekdaysOf = (set: number): number[] => WEEKDAYS.filter((weekday) => (set >> weekday) & 1);

export const isOnWeekday = (set: number, day: number): boolean => ((set >> ((day + FIRST_WEEKDAY) % 7)) & 1) === 1;

/** A user's own days off, which replace the tenant's. A change applies from the user's next local day. */
export interface OwnDaysOff {
  /** The set from `fromDay` (epoch day) on. */
  set: number;
  fromDay: number;
  /** The set before that; `null` for the tenant's days off. */
  before: number | null;
}

/** The user's own days off on a day (epoch day); `null` for the tenant's. */
export const ownDaysOff = (own: OwnDaysOff | null, day: number): number | null =>
  own === null ? null : day >= own.fromDay ? own.set : own.before;

/** Number of consecutive days off that start on a day (epoch day). */
export function daysOffFrom(day: number, isDayOff: (day: number) => boolean): number {
  let count = 0;
  while (isDayOff(day + count)) count += 1;
  return count;
}
