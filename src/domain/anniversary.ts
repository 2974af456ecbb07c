import { dateOf, DAY_MS, dayOf, isDate, epochDay } from './periods.ts';
import { dayIn, dayStartMs } from './zone.ts';

export interface SignUp {
  /** Epoch day. */
  day: number;
  /** Full years already counted. */
  years: number;
  /** When the date or the user's zone was last set (epoch ms). The clock counts nothing before. */
  sinceMs: number;
}

/** The day (epoch day) `years` after another. In other years, 29 February becomes 1 March. */
export function anniversaryDay(day: number, years: number): number {
  const date = new Date(day * DAY_MS);
  date.setUTCFullYear(date.getUTCFullYear() + years);
  return date.getTime() / DAY_MS;
}

export function fullYears(from: number, to: number): number {
  const years = new Date(to * DAY_MS).getUTCFullYear() - new Date(from * DAY_MS).getUTCFullYear();
  return Math.max(0, anniversaryDay(from, years) > to ? years - 1 : years);
}

/** The latest sign-up day (epoch day) that has `years` full years on `day`. */
export function latestSignUp(day: number, years: number): number {
  // 29 February: its anniversary falls one day later than subtracting the years suggests.
  let latest = anniversaryDay(day, -years) + 1;
  while (fullYears(latest, day) < years) latest -= 1;
  return latest;
}

/**
 * When the clock next counts a user's years (epoch ms): at the start of the local day that completes the next year, or when
 * the date or zone was set, if that is later. `zone`: IANA name; `null` means UTC.
 */
export const nextCountMs = ({ day, years, sinceMs }: SignUp, zone: string | null): number =>
  Math.max(dayStartMs(zone ?? 'UTC', anniversaryDay(day, years + 1)), sinceMs);

/** A user's full years on the local day of `atMs`. */
export const yearsAt = ({ day }: SignUp, zone: string | null, atMs: number): number =>
  fullYears(day, dayIn(zone, atMs));

/** The epoch day of `YYYY-MM-DD`, or the UTC day of a date-time (UTC if it has no offset); `null` if the date is invalid. */
export function signUpDay(text: string): number | null {
  const date = text.slice(0, 10);
  if (!isDate(date)) return null;
  if (text.length === 10) return dayOf(date);
  const ms = Date.parse(/(z|[+-]\d{2}:\d{2})$/i.test(text) ? text : `${text}Z`);
  return Number.isNaN(ms) ? null : epochDay(ms);
}

/** The latest calendar day (epoch day) anywhere on Earth at a time. */
export const lastDayAnywhere = (atMs: number): number => epochDay(atMs + LARGEST_OFFSET_MS);
const LARGEST_OFFSET_MS = 14 * 3_600_000;

/** A user's sign-up date as `YYYY-MM-DD`; `null` if unknown. */
export const signUpDate = (signUp: SignUp | null): string | null => (signUp === null ? null : dateOf(signUp.day));
