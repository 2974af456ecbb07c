/*
 * Days off of daily streaks: weekdays that need no activity and end no streak. Plans and states store weekdays as a bit set, 0 =
 * Sunday to 6. `lua/lib/streaks.lua` reads the same sets.
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
