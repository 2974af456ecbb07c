import { Temporal } from 'temporal-polyfill';
import type { Leaderboard } from '../../src/domain/catalog.ts';
import type { StreakSettings } from '../../src/domain/fields/tenant-settings.ts';

/** Local dates are text (YYYY-MM-DD), which compares like dates. All calendar arithmetic uses Temporal. */
export type LocalDate = string;
export type Frequency = StreakSettings['frequency'];
export type WeekStart = StreakSettings['weekStart'];

const date = (text: LocalDate): Temporal.PlainDate => Temporal.PlainDate.from(text);

/** Local date and time. `tz` null: UTC. */
export function wall(atMs: number, tz: string | null): { date: LocalDate; time: string } {
  const local = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(tz ?? 'UTC');
  return { date: local.toPlainDate().toString(), time: local.toPlainTime().toString({ smallestUnit: 'second' }) };
}

/** The instant at which a local date begins. */
export const midnight = (of: LocalDate, tz: string | null): number =>
  date(of).toZonedDateTime(tz ?? 'UTC').epochMilliseconds;

export const addDays = (to: LocalDate, days: number): LocalDate => date(to).add({ days }).toString();
export const daysBetween = (from: LocalDate, to: LocalDate): number =>
  date(from).until(date(to), { largestUnit: 'days' }).days;
/** The same date in another year; 29 February becomes 1 March in years without it. */
export function yearsLater(from: LocalDate, years: number): LocalDate {
  const later = date(from).add({ years });
  return (later.day === date(from).day ? later : later.add({ days: 1 })).toString();
}
/** 0: Sunday. */
export const weekday = (day: LocalDate): number => date(day).dayOfWeek % 7;
/** A day itself or the first Sunday after it. */
export const sundayFrom = (day: LocalDate): LocalDate => addDays(day, 7 - date(day).dayOfWeek);
export const latest = (a: LocalDate, b: LocalDate): LocalDate => (a > b ? a : b);

const found = new Map<string, LocalDate>();

/** The first day of the period that contains a day; identifies the period. */
export function periodOf(day: LocalDate, frequency: Frequency, weekStart: WeekStart): LocalDate {
  const asked = `${day} ${frequency} ${weekStart}`;
  const known = found.get(asked) ?? firstDayOf(day, frequency, weekStart);
  found.set(asked, known);
  return known;
}

function firstDayOf(day: LocalDate, frequency: Frequency, weekStart: WeekStart): LocalDate {
  if (frequency === 'daily') return day;
  if (frequency === 'monthly') return date(day).with({ day: 1 }).toString();
  // 1 is Monday, 7 is Sunday.
  const past = weekStart === 'monday' ? date(day).dayOfWeek - 1 : date(day).dayOfWeek % 7;
  return addDays(day, -past);
}

const ONE = { daily: { days: 1 }, weekly: { weeks: 1 }, monthly: { months: 1 } } as const;
export const nextPeriod = (period: LocalDate, frequency: Frequency): LocalDate =>
  date(period).add(ONE[frequency]).toString();
export const periodBefore = (period: LocalDate, frequency: Frequency): LocalDate =>
  date(period).subtract(ONE[frequency]).toString();
export const lastDayOf = (period: LocalDate, frequency: Frequency): LocalDate =>
  addDays(nextPeriod(period, frequency), -1);

export interface Run {
  start: LocalDate;
  end: LocalDate | null;
}

/** The run of a leaderboard that contains a day; null before the leaderboard's first day or after its last. */
export function runOf(board: Leaderboard, day: LocalDate): Run | null {
  if (day < board.start || (board.end !== null && day > board.end)) return null;
  const { runUnit, runInterval } = board;
  if (runUnit === null || runInterval === null) return { start: board.start, end: board.end };
  const nth = (n: number): LocalDate =>
    date(board.start)
      .add({ [`${runUnit}s`]: n * runInterval })
      .toString();
  const unit = `${runUnit}s` as const;
  // The unit's difference may be one short at the ends of months: it is where the search begins.
  let n = Math.max(0, Math.floor(date(board.start).until(day, { largestUnit: unit })[unit] / runInterval) - 1);
  while (nth(n + 1) <= day) n += 1;
  const end = addDays(nth(n + 1), -1);
  return { start: nth(n), end: board.end !== null && board.end < end ? board.end : end };
}

/** The last runs of a leaderboard that have begun on a day, the one containing the day first. */
export function latestRuns(board: Leaderboard, day: LocalDate): Run[] {
  const last = board.end !== null && board.end < day ? board.end : day;
  const run = runOf(board, last);
  const before = run === null ? null : runOf(board, addDays(run.start, -1));
  return [run, before].filter((one) => one !== null);
}

/**
 * Whether a time of day is inside a leaderboard's: from `startTime` until just before `endTime`, over midnight if it is
 * later.
 */
export function inHours({ startTime, endTime }: Leaderboard, time: string): boolean {
  const full = (text: string): string => (text.length === 5 ? `${text}:00` : text);
  const from = full(startTime ?? '00:00');
  const until = endTime === null ? '24:00:00' : full(endTime);
  return from < until ? time >= from && time < until : time >= from || time < until;
}
