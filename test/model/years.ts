import { yearsLater, latest, midnight, wall, type LocalDate } from './calendar.ts';
import type { ModelUser } from './user.ts';

/** When a user signed up, the full years since then that the clock has counted, and when the date or the zone was set. */
export interface SignUp {
  date: LocalDate;
  years: number;
  setMs: number;
}

/**
 * When the clock next counts the user's years: at the end of another year in the user's zone, but not before the date was
 * known.
 */
export function nextCount({ signUp, tz }: ModelUser): number {
  if (signUp === null) return Infinity;
  return Math.max(midnight(yearsLater(signUp.date, signUp.years + 1), tz), signUp.setMs);
}

/** The full years since the user signed up, at a time. */
export function yearsOver({ date }: SignUp, tz: string | null, atMs: number): number {
  const { date: today } = wall(atMs, tz);
  let years = 0;
  while (latest(yearsLater(date, years + 1), today) === today) years += 1;
  return years;
}
