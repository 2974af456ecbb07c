import { dateOf, DAY_MS, isDate, dayOf } from './periods.ts';
import { dayIn, dayStartMs } from './zone.ts';

/** When a user signed up, with how far the clock has counted the years since. */
export interface SignUp {
  /** Epoch day. */
  day: number;
  /** Full years that the clock has counted. */
  years: number;
  /** When the day was set, or the user's zone changed, epoch ms: nothing is counted before. */
  sinceMs: number;
}

/** The day (epoch day) on which so many years since another are over; of 29 February 1 March in other years. */
export function anniversaryDay(day: number, years: number): number {
  const date = new Date(day * DAY_MS);
  date.setUTCFullYear(date.getUTCFullYear() + years);
  return date.getTime() / DAY_MS;
}

/** The full years from one day to another (epoch days). */
export function fullYears(from: number, to: number): number {
  const years = new Date(to * DAY_MS).getUTCFullYear() - new Date(from * DAY_MS).getUTCFullYear();
  return Math.max(0, anniversaryDay(from, years) > to ? years - 1 : years);
}

/** The last day (epoch day) from which so many full years are over on a day. */
export function latestSignUp(day: number, years: number): number {
  // 29 February has its anniversary a day later than so many years back would say, and seen from there it is a day too late.
  let latest = anniversaryDay(day, -years) + 1;
  while (fullYears(latest, day) < years) latest -= 1;
  return latest;
}

/**
 * When the clock counts a user's years next, epoch ms: at the beginning of the local day on which one more is over, or
 * when that day or the zone was set, if that was later. `zone`: IANA name; null: UTC.
 */
export const nextCountMs = ({ day, years, sinceMs }: SignUp, zone: string | null): number =>
  Math.max(dayStartMs(zone ?? 'UTC', anniversaryDay(day, years + 1)), sinceMs);

/** The full years of a user at a time, by the local day then. */
export const yearsAt = ({ day }: SignUp, zone: string | null, atMs: number): number =>
  fullYears(day, dayIn(zone, atMs));

/** The day (epoch day) of `YYYY-MM-DD`, or in UTC of a date-time (without offset: of UTC); null: there is no such day. */
export function signUpDay(text: string): number | null {
  const date = text.slice(0, 10);
  if (!isDate(date)) return null;
  if (text.length === 10) return dayOf(date);
  const ms = Date.parse(/(z|[+-]\d{2}:\d{2})$/i.test(text) ? text : `${text}Z`);
  return Number.isNaN(ms) ? null : Math.floor(ms / DAY_MS);
}

/** The last day (epoch day) that it is anywhere on Earth at a time. */
export const lastDayAnywhere = (atMs: number): number => Math.floor((atMs + LARGEST_OFFSET_MS) / DAY_MS);
const LARGEST_OFFSET_MS = 14 * 3_600_000;

/** `YYYY-MM-DD` of a user's sign-up; null: not known. */
export const signUpDate = (signUp: SignUp | null): string | null => (signUp === null ? null : dateOf(signUp.day));
