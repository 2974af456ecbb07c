/** Periods of repeating achievements, by local days (epoch days). */
import { Type, type Static } from 'typebox';
import { type Days, periodEnd, periodOf as periodOfFrequency, periodStart, type WeekStart } from './periods.ts';

export const LONGEST_REPEAT_DAYS = 366;

export const Repeat = Type.Union([
  Type.Enum(['daily', 'weekly', 'monthly']),
  Type.Object({ days: Type.Integer({ minimum: 1, maximum: LONGEST_REPEAT_DAYS }) }, { additionalProperties: false }),
]);
export type Repeat = Static<typeof Repeat>;

/** Periods of a number of days follow each other from 1970-01-01 on. */
export const FIRST_DAY = 0;

/** Number of the period with a day. `quests.period` in `lua/lib/quests.lua` has the same rule. */
export const periodOf = (repeat: Repeat, day: number, weekStart: WeekStart): number =>
  typeof repeat === 'string' ? periodOfFrequency(day, repeat, weekStart) : Math.floor((day - FIRST_DAY) / repeat.days);

/** Days of the longest period. */
export const longestPeriod = (repeat: Repeat): number =>
  typeof repeat === 'string' ? { daily: 1, weekly: 7, monthly: 31 }[repeat] : repeat.days;

/** First and last day of a period. */
export function daysOf(repeat: Repeat, period: number, weekStart: WeekStart): Days {
  if (typeof repeat === 'string')
    return { fromDay: periodStart(period, repeat, weekStart), toDay: periodEnd(period, repeat, weekStart) };
  const fromDay = FIRST_DAY + period * repeat.days;
  return { fromDay, toDay: fromDay + repeat.days - 1 };
}
