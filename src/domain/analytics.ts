import { DAY_MS } from './periods.ts';

/**
 * Kinds of sums (`analytics_days.kind`). Unless a comment says otherwise, `day` is the UTC day on which Laurel applied the change.
 * Stored numbers never change.
 */
export const COUNTED = {
  /** Users active on a UTC day: one on which an event happened, also a late one. */
  activeOnDay: 1,
  /** The same in the week that begins on the day, a Monday. */
  activeInWeek: 2,
  /** The same in the month that begins on the day. */
  activeInMonth: 3,
  newUsers: 4,
  /** Users active in the week that begins on the day; `part`: the Monday of the week in which they were first seen. */
  retained: 5,
  /** Events and the sum of their values by the users' local days; `subject`: metric. A reversed event does not count. */
  events: 6,
  /** The same events by size; `part`: `sizeOf`. Days that were imported are in `events` only. */
  sizes: 7,
  /** `subject`: achievement. A completion that was revoked does not count. */
  completed: 8,
  /** The same by week (its Monday) and by the time since the user was first seen; `part`: `durationOf`. */
  durations: 9,
  /** Points awarded and points taken, by the local days of the awards; `subject`: trigger, `part`: points system. */
  awarded: 10,
  taken: 11,
  /** Streaks; `subject`: frequency, `part`: kind of the change (`SETTLED`). A change that was replaced does not count. */
  streakChanges: 12,
  /** Events that extended a streak, by the users' local days. */
  streaksExtended: 13,
  /** Points awarded minus points taken on all days, stored on day 0; `subject`: points system. */
  pointsEver: 14,
  /**
   * Places on a leaderboard, from its snapshots at the end of the day and of the day before in the same run; `subject`:
   * leaderboard. `placesChanged`: users with other ranks, and the sum of the differences. `placesJoined`: users who were not on it.
   */
  placesChanged: 15,
  placesJoined: 16,
  /** Changes of balances by the users' local days; `subject`: points system, `part`: `BALANCE`. */
  balanceChanges: 17,
  /**
   * Points of holds that end by themselves; `subject`: points system. `day` is the day after the local day on which the hold ends. A
   * hold that is captured or released is taken back.
   */
  holdsEnded: 18,
  /** Users active on the day who were first seen `part` days before, for the numbers of days in `RETURN_DAYS`. */
  returned: 19,
  /** Messages to users by the UTC day on which they fell due; `subject` and `part`: see `messageCountOf`. Only for everyone. */
  messages: 20,
} as const;
export type Counted = (typeof COUNTED)[keyof typeof COUNTED];

/** The days after the first one for which daily retention is counted, by UTC. */
export const RETURN_DAYS: readonly number[] = [1, 7, 30];

/** Segments of everyone and of the groups (`analytics_days.segment`); positive numbers are values of attributes. */
export const SEGMENT = { everyone: 0, control: -1, others: -2 } as const;

/** Maximum number of segments per attribute. */
export const MOST_VALUES = 50;

export const WEEK_DAYS = 7;
/** 1970-01-05, the first Monday. */
const FIRST_MONDAY = 4;

export const mondayOf = (day: number): number => day - ((((day - FIRST_MONDAY) % WEEK_DAYS) + WEEK_DAYS) % WEEK_DAYS);

export function monthOf(day: number): number {
  const date = new Date(day * DAY_MS);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / DAY_MS;
}

/** The first day of the month after a day's. */
export function nextMonthOf(day: number): number {
  const date = new Date(day * DAY_MS);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / DAY_MS;
}

/** Values are grouped by size: 0, and from 10⁻⁶ on three sizes per power of ten (1 to 2, 2 to 5, 5 to 10). Negative values have negative sizes. */
const STEPS = [1, 2, 5] as const;
const PLACES = 6;

/** `micros`: a bigint, or a safe integer. */
export function sizeOf(micros: bigint | number): number {
  const digits = String(micros < 0 ? -micros : micros);
  if (digits === '0') return 0;
  const first = Number(digits[0]);
  const size = 1 + (digits.length - 1) * STEPS.length + (first >= 5 ? 2 : first >= 2 ? 1 : 0);
  return micros < 0 ? -size : size;
}

/** The bounds of a size. The one nearer to 0 is inclusive. */
export function valuesOfSize(size: number): { from: number; to: number } {
  if (size === 0) return { from: 0, to: 0 };
  const bound = (at: number): number =>
    Number(`${STEPS[(at - 1) % STEPS.length]}e${Math.floor((at - 1) / STEPS.length) - PLACES}`);
  return size > 0 ? { from: bound(size), to: bound(size + 1) } : { from: -bound(1 - size), to: -bound(-size) };
}

/** Number of steps of durations per power of ten: each step is 12 % longer than the one before. */
const DURATION_STEPS = 20;

/** The step of a duration, from 0 for a second and less. */
export const durationOf = (ms: number): number =>
  Math.max(0, Math.floor(Math.log10(Math.max(1, ms / 1000)) * DURATION_STEPS));

export const secondsOf = (step: number): number => Math.round(10 ** ((step + 0.5) / DURATION_STEPS));

/** The step of the median; `null` without durations. */
export function medianStep(counts: ReadonlyMap<number, number>): number | null {
  const steps = [...counts].filter(([, count]) => count > 0).toSorted(([a], [b]) => a - b);
  const half = steps.reduce((sum, [, count]) => sum + count, 0) / 2;
  let below = 0;
  for (const [step, count] of steps) {
    below += count;
    if (below >= half) return step;
  }
  return null;
}

/** The 97.5 % quantile of the normal distribution: 95 % are within this many standard deviations. */
const Z = 1.959964;

/** A difference and its 95 % confidence interval. */
interface Difference {
  difference: number;
  low: number;
  high: number;
}

/** Wilson's interval of a share. */
function shareInterval(count: number, of: number): { low: number; high: number } {
  const share = Math.min(1, count / of);
  const middle = share + Z ** 2 / (2 * of);
  const spread = Z * Math.sqrt((share * (1 - share)) / of + Z ** 2 / (4 * of ** 2));
  const scale = 1 + Z ** 2 / of;
  return { low: Math.max(0, (middle - spread) / scale), high: Math.min(1, (middle + spread) / scale) };
}

interface Share {
  count: number;
  of: number;
}

/** The first share minus the second, with Newcombe's interval, which also holds for few users; `null` if a share is of nobody. */
export function shareDifference(first: Share, second: Share): Difference | null {
  if (first.of === 0 || second.of === 0) return null;
  const [a, b] = [Math.min(1, first.count / first.of), Math.min(1, second.count / second.of)];
  const [ofA, ofB] = [shareInterval(first.count, first.of), shareInterval(second.count, second.of)];
  const difference = a - b;
  return {
    difference,
    low: difference - Math.hypot(a - ofA.low, ofB.high - b),
    high: difference + Math.hypot(ofA.high - a, b - ofB.low),
  };
}

/** Numbers of a sample: how many, their mean, and the sum of the squared distances from it. */
export interface Moments {
  n: number;
  mean: number;
  squares: number;
}

/** The first mean minus the second, with the interval of Welch's test; `null` if a sample has fewer than two numbers. */
export function meanDifference(first: Moments, second: Moments): Difference | null {
  if (first.n < 2 || second.n < 2) return null;
  const variance = ({ n, squares }: Moments): number => squares / (n - 1) / n;
  const difference = first.mean - second.mean;
  const spread = Z * Math.sqrt(variance(first) + variance(second));
  return { difference, low: difference - spread, high: difference + spread };
}
