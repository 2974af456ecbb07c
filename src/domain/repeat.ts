/** Quests: achievements that count events in periods of local days (epoch days), once or again and again. */
import { Type, type Static } from 'typebox';
import {
  dayOf,
  type Days,
  FREQUENCIES,
  periodEnd,
  periodOf as periodOfFrequency,
  periodStart,
  type WeekStart,
} from './periods.ts';

export const LONGEST_REPEAT_DAYS = 366;

export const Repeat = Type.Union([
  Type.Enum([...FREQUENCIES]),
  Type.Object({ days: Type.Integer({ minimum: 1, maximum: LONGEST_REPEAT_DAYS }) }, { additionalProperties: false }),
]);
export type Repeat = Static<typeof Repeat>;

/** When an achievement's events count. Dates are its first and last local day. */
export interface Season {
  repeat: Repeat | null;
  startDate: string | null;
  endDate: string | null;
}

/** Whether an achievement counts events by period. Without `repeat`, its only period is its season. */
export const isQuest = ({ repeat, startDate, endDate }: Season): boolean =>
  repeat !== null || startDate !== null || endDate !== null;

/** Periods of days are counted from the first day of the season, else from 1970-01-01. */
export const firstDayOf = ({ startDate }: Season): number => (startDate === null ? 0 : dayOf(startDate));

/** Number of a season. Those of periods are above 0, too. */
export const SEASON = 1;

const ANY_DAY: Days = { fromDay: 0, toDay: 2_000_000 };

/** First and last day of a season; far away if it has none. */
export const seasonOf = ({ startDate, endDate }: Season): Days => ({
  fromDay: startDate === null ? ANY_DAY.fromDay : dayOf(startDate),
  toDay: endDate === null ? ANY_DAY.toDay : dayOf(endDate),
});

/** Number of the period with a day; `null` outside of the season. `questPeriod` in `src/rules/quests.ts` has the same rule. */
export function periodOf(season: Season, day: number, weekStart: WeekStart): number | null {
  const { fromDay, toDay } = seasonOf(season);
  const { repeat } = season;
  if (day < fromDay || day > toDay) return null;
  if (repeat === null) return SEASON;
  if (typeof repeat === 'string') return periodOfFrequency(day, repeat, weekStart);
  return Math.floor((day - firstDayOf(season)) / repeat.days) + 1;
}

/** Days of the longest period. */
export function longestPeriod(season: Season): number {
  const { repeat } = season;
  if (repeat === null) return ANY_DAY.toDay;
  return typeof repeat === 'string' ? { daily: 1, weekly: 7, monthly: 31 }[repeat] : repeat.days;
}

/** First and last day of a period, within the season. */
export function daysOf(season: Season, period: number, weekStart: WeekStart): Days {
  const { repeat } = season;
  const days = seasonOf(season);
  if (repeat === null) return days;
  const first = firstDayOf(season);
  const all =
    typeof repeat === 'string'
      ? { fromDay: periodStart(period, repeat, weekStart), toDay: periodEnd(period, repeat, weekStart) }
      : { fromDay: first + (period - 1) * repeat.days, toDay: first + period * repeat.days - 1 };
  return { fromDay: Math.max(all.fromDay, days.fromDay), toDay: Math.min(all.toDay, days.toDay) };
}
