/*
 * Days off of daily streaks: weekdays that need nothing and end nothing. Plans and states hold a set of weekdays as a
 * number: the sum of 2 to the power of each, 0 = Sunday to 6. `lua/lib/streaks.lua` reads the same sets.
 */

const WEEKDAYS = [0, 1, 2, 3, 4, 5, 6] as const;
/** 1970-01-01 was a Thursday. */
const FIRST_WEEKDAY = 4;

/** Weekdays as one number. */
export const weekdaySet = (weekdays: readonly number[]): number =>
  weekdays.reduce((set, weekday) => set | (1 << weekday), 0);

/** The weekdays of such a number, in ascending order. */
export const weekdaysOf = (set: number): number[] => WEEKDAYS.filter((weekday) => (set >> weekday) & 1);

/** Whether a day (epoch day) is on one of some weekdays. */
export const isOnWeekday = (set: number, day: number): boolean => ((set >> ((day + FIRST_WEEKDAY) % 7)) & 1) === 1;

/** A user's own days off, which replace everyone's. A change of them holds from the user's next local day. */
export interface OwnDaysOff {
  /** Set of weekdays from `fromDay` (epoch day) on. */
  set: number;
  fromDay: number;
  /** Set of weekdays until then; null: everyone's. */
  before: number | null;
}

/** The user's own days off on a day (epoch day); null: everyone's are the user's. */
export const ownDaysOff = (own: OwnDaysOff | null, day: number): number | null =>
  own === null ? null : day >= own.fromDay ? own.set : own.before;

/** How many days off follow one another from a day (epoch day) on. */
export function daysOffFrom(day: number, isDayOff: (day: number) => boolean): number {
  let count = 0;
  while (isDayOff(day + count)) count += 1;
  return count;
}
