/**
 * Calendar rules. A local day is an epoch day (days since 1970-01-01 of the user's local date); a period is
 * the index of a local day, week or month. Lua sees these numbers only; the rules live here alone.
 */

export type Frequency = 'daily' | 'weekly' | 'monthly';
export type WeekStart = 'sunday' | 'monday';

export const DAY_MS = 86_400_000;

/** First and last epoch day of some days that follow one another. */
export interface Days {
  fromDay: number;
  toDay: number;
}

/** Epoch day of `YYYY-MM-DD`. */
export const dayOf = (date: string): number => Date.parse(`${date}T00:00:00Z`) / DAY_MS;

/** `YYYY-MM-DD` of an epoch day. */
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** Epoch day of an instant at an offset from UTC. */
export const localDay = (nowMs: number, offsetSeconds: number): number =>
  Math.floor((nowMs + offsetSeconds * 1000) / DAY_MS);

/** Whether `YYYY-MM-DD` names a day that exists. */
export const isDate = (date: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(date) && !Number.isNaN(dayOf(date)) && dateOf(dayOf(date)) === date;

// 1970-01-01 was a Thursday: day 3 is the first Sunday, day 4 the first Monday.
const firstWeekDay = (weekStart: WeekStart): number => (weekStart === 'sunday' ? 3 : 4);

/** Index of the period that contains a local day; consecutive periods have consecutive indexes. */
export function periodOf(day: number, frequency: Frequency, weekStart: WeekStart): number {
  if (frequency === 'daily') return day;
  if (frequency === 'weekly') return Math.floor((day - firstWeekDay(weekStart)) / 7);
  const date = new Date(day * DAY_MS);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** First day of a period. */
export function periodStart(period: number, frequency: Frequency, weekStart: WeekStart): number {
  if (frequency === 'daily') return period;
  if (frequency === 'weekly') return period * 7 + firstWeekDay(weekStart);
  return Date.UTC(Math.floor(period / 12), period % 12, 1) / DAY_MS;
}

/** Last day of a period. */
export const periodEnd = (period: number, frequency: Frequency, weekStart: WeekStart): number =>
  periodStart(period + 1, frequency, weekStart) - 1;
