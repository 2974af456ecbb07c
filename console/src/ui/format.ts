// oxlint-disable-next-line no-restricted-imports -- the nouns that the command line and the API use, too
import { counted as countedAs } from '../../../src/domain/words.ts';
import { serverNowMs } from './server-time.ts';

const WHOLE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

export const number = (value: number): string => WHOLE.format(value);

/** `1 user`, `2,000 users`. */
export const counted = (count: number, one: string): string => countedAs(count, one, number(count));

/** A share of 0 to 1 in whole percents: `98%`, and `<1%` or `>99%` for shares that are not quite none or all. */
export function percent(share: number): string {
  const whole = Math.round(share * 100);
  if (share > 0 && whole === 0) return '<1%';
  return share < 1 && whole === 100 ? '>99%' : `${whole}%`;
}

const MANY_TIMES = 3;

/** How a figure changed since the previous period: `+12% from 46`, and `54 times the 46 before` where percents say little. */
export function changeText(now: number, before: number): string {
  if (before === 0) return now === 0 ? 'No change' : 'None in the previous period';
  const ratio = now / before;
  if (ratio === 1) return 'No change';
  if (ratio >= MANY_TIMES) return `${number(Math.round(ratio))} times the ${number(before)} before`;
  return `${ratio > 1 ? '+' : '−'}${percent(Math.abs(ratio - 1))} from ${number(before)}`;
}

const PERIODS = { daily: 'day', weekly: 'week', monthly: 'month' } as const;

/** `2 days`, `1 week`, for a number of periods of a frequency. */
export const periods = (count: number, frequency: keyof typeof PERIODS): string => counted(count, PERIODS[frequency]);

export type CalendarUnit = 'day' | 'week' | 'month';

const DATES = {
  day: new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' }),
  month: new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' }),
};

/** `3 Nov` for a day and for a week, which begins on it; `Nov 2026` for a month. `ms`: its start in UTC. */
export const dateText = (ms: number, unit: CalendarUnit = 'day'): string =>
  DATES[unit === 'month' ? 'month' : 'day'].format(ms);

/** The same, where a week must not look like a day: `Week of 3 Nov`. */
export const periodText = (ms: number, unit: CalendarUnit): string =>
  unit === 'week' ? `Week of ${dateText(ms)}` : dateText(ms, unit);

const RANGE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** `3–9 Nov 2026`, for the starts of two days in UTC; one day has no dash. */
export const daysText = (fromMs: number, toMs: number): string => RANGE.formatRange(fromMs, toMs);

/** `3 Nov 2026`, and `3–9 Nov 2026` for several days; `start`, `end`: `YYYY-MM-DD`. */
export const calendarDays = (start: string, end = start): string => daysText(Date.parse(start), Date.parse(end));

export const moment = (iso: string | null | undefined): string => (iso ? MOMENT.format(new Date(iso)) : '–');

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' });
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

/** `Friday, 25 December 2026`, in the browser's zone. */
export const dayOfMoment = (iso: string): string => DAY.format(new Date(iso));

/** `03:38:48`, in the browser's zone. */
export const timeOfMoment = (iso: string): string => TIME.format(new Date(iso));

/** `3 hours ago`; for times more than a month away, the date. */
export function ago(iso: string | null | undefined, nowMs = serverNowMs()): string {
  if (!iso) return '–';
  const ms = Date.parse(iso) - nowMs;
  if (Math.abs(ms) > 30 * 86_400_000) return moment(iso);
  const [unit, size] = STEPS.find(([, step]) => Math.abs(ms) >= step) ?? ['second', 1_000];
  return RELATIVE.format(Math.round(ms / size), unit);
}

/** Like `ago`, for times that never follow a test clock, such as a process's start. */
export const agoInRealTime = (iso: string): string => ago(iso, Date.now());

/** The calendar day, `YYYY-MM-DD`, a number of days after another. */
export const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);

/** The server's day in UTC, `YYYY-MM-DD`. */
export const today = (): string => new Date(serverNowMs()).toISOString().slice(0, 10);

/** The earliest day that it still is in any zone (UTC-12), `YYYY-MM-DD`. */
export const earliestDay = (): string => new Date(serverNowMs() - 12 * 3_600_000).toISOString().slice(0, 10);
