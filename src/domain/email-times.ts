import { wallTimeMs, type LocalTime } from './local-times.ts';
import { DAY_MS, type Days, type Frequency } from './periods.ts';
import type { Settings } from './settings.ts';
import { dayIn } from './zone.ts';

/** When e-mails are due, in the users' zones. */

const hour = (of: number): number => of * 60;
const FRIDAY = 5;
const MONDAY = 1;

/**
 * The reminder of a streak in danger. For daily streaks four hours before midnight by the clock on the wall: on a day on
 * which the clocks change it is 20:00 all the same.
 */
export const REMINDER_TIMES: Readonly<Record<Frequency, LocalTime>> = {
  daily: { minute: hour(20) },
  weekly: { minute: hour(9), weekday: FRIDAY },
  monthly: { minute: hour(9), dayOfMonth: 25 },
};

type Aggregation = Settings['aggregationPeriod'];

export const RECAP_TIMES: Readonly<Record<Aggregation, LocalTime>> = {
  weekly: { minute: hour(9), weekday: MONDAY },
  monthly: { minute: hour(9), dayOfMonth: 1 },
};

/** The days that a recap due on a day (epoch day) is of: the week from Monday to Sunday before it, or the month. */
export function recapDays(aggregation: Aggregation, dueDay: number): Days {
  if (aggregation === 'weekly') return { fromDay: dueDay - 7, toDay: dueDay - 1 };
  const due = new Date(dueDay * DAY_MS);
  return { fromDay: Date.UTC(due.getUTCFullYear(), due.getUTCMonth() - 1, 1) / DAY_MS, toDay: dueDay - 1 };
}

export const REACTIVATION_TIME: LocalTime = { minute: hour(10) };

/** Days without an event after which a user is written to: the nth message (from 1) after the nth of these. */
export const REACTIVATION_DAYS: readonly number[] = [3, 5, 7, 14, 30];

const EVENING = { begins: hour(17), ends: hour(21) };

/**
 * When the e-mail about an achievement is due that was completed at a time (both epoch ms): at once from 17:00 to 21:00 in
 * the user's zone (null: UTC); before that at 17:00, after it at 17:00 of the next day.
 */
export function achievementDueMs(zone: string | null, completedMs: number): number {
  const day = dayIn(zone, completedMs);
  const beginsMs = wallTimeMs(zone, day, EVENING.begins);
  if (completedMs < beginsMs) return beginsMs;
  return completedMs <= wallTimeMs(zone, day, EVENING.ends) ? completedMs : wallTimeMs(zone, day + 1, EVENING.begins);
}
