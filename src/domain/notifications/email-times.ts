import { DAY_MS, type Days, type Frequency } from '../periods.ts';
import type { Settings } from '../settings.ts';
import { dayIn, type LocalTime, wallTimeMs } from '../zone.ts';

const hour = (of: number): number => of * 60;
const FRIDAY = 5;
const MONDAY = 1;

/** Reminders of streaks at risk; for daily ones at 20:00, also on days when clocks change. */
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

/** The days that a recap covers: the Monday-to-Sunday week before the day on which it is due (epoch day), or the month. */
export function recapDays(aggregation: Aggregation, dueDay: number): Days {
  if (aggregation === 'weekly') return { fromDay: dueDay - 7, toDay: dueDay - 1 };
  const due = new Date(dueDay * DAY_MS);
  return { fromDay: Date.UTC(due.getUTCFullYear(), due.getUTCMonth() - 1, 1) / DAY_MS, toDay: dueDay - 1 };
}

export const REACTIVATION_TIME: LocalTime = { minute: hour(10) };

/** Days without an event after which the nth reactivation message (from 1) is sent. */
export const REACTIVATION_DAYS: readonly number[] = [3, 5, 7, 14, 30];

const EVENING = { begins: hour(17), ends: hour(21) };

/**
 * When the email about an achievement is due (epoch ms). In the user's zone (`null` means UTC): immediately between 17:00 and
 * 21:00, at 17:00 if it was completed earlier, at 17:00 on the next day if later.
 */
export function achievementDueMs(zone: string | null, completedMs: number): number {
  const day = dayIn(zone, completedMs);
  const beginsMs = wallTimeMs(zone, day, EVENING.begins);
  if (completedMs < beginsMs) return beginsMs;
  return completedMs <= wallTimeMs(zone, day, EVENING.ends) ? completedMs : wallTimeMs(zone, day + 1, EVENING.begins);
}
