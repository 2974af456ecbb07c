import { type Decimal, SUM_BOUND } from '../domain/decimal.ts';
import type { Total } from './user.ts';

/*
 * Sums that grow with events: totals, counts of matching events, sums of periods, scores. They stay below SUM_BOUND in both
 * directions, so they have at most 15 digits before the decimal point, and the difference of two of them is exact.
 */

/** Adds to a sum in place. Exact below 2^53. Whole part and millionths keep the same sign. */
export function addTo(sum: Decimal, { whole, micros }: Decimal): void {
  let wholes = sum.whole + whole;
  let millionths = sum.micros + micros;
  if (millionths >= 1_000_000) {
    wholes += 1;
    millionths -= 1_000_000;
  } else if (millionths <= -1_000_000) {
    wholes -= 1;
    millionths += 1_000_000;
  }
  if (wholes > 0 && millionths < 0) {
    wholes -= 1;
    millionths += 1_000_000;
  } else if (wholes < 0 && millionths > 0) {
    wholes += 1;
    millionths -= 1_000_000;
  }
  sum.whole = wholes;
  sum.micros = millionths;
}

export function plus(one: Decimal, other: Decimal): Decimal {
  const sum = { whole: one.whole, micros: one.micros };
  addTo(sum, other);
  return sum;
}

export const minus = (one: Decimal, { whole, micros }: Decimal): Decimal =>
  plus(one, { whole: 0 - whole, micros: 0 - micros });

export const isZero = ({ whole, micros }: Decimal): boolean => whole === 0 && micros === 0;
export const isEqual = (one: Decimal, other: Decimal): boolean =>
  one.whole === other.whole && one.micros === other.micros;

/** Whether a sum is at least `other`. */
export const reaches = (sum: Decimal, other: Decimal): boolean =>
  sum.whole > other.whole || (sum.whole === other.whole && sum.micros >= other.micros);

/** Whether adding a value has taken a sum out of range, or further out. A sum that was out of range may come back. */
export const leavesRange = (sum: Decimal, added: Decimal): boolean =>
  (sum.whole >= SUM_BOUND && (added.whole > 0 || added.micros > 0)) ||
  (sum.whole <= -SUM_BOUND && (added.whole < 0 || added.micros < 0));

/** The whole part of a running total's peak, before and after an event. Triggers compare these two. */
export interface Peaks {
  before: number;
  after: number;
}

/** Adds a value to the running total `no`, which begins with 0. */
export function addToTotal(totals: Map<number, Total>, no: number, value: Decimal): Peaks {
  let total = totals.get(no);
  if (total === undefined) totals.set(no, (total = { whole: 0, micros: 0, peak: null }));
  const before = total.peak ?? Math.max(total.whole, 0);
  addTo(total, value);
  total.peak = total.whole >= before ? null : before;
  return { before, after: total.peak ?? total.whole };
}

/**
 * Removes a value from the running total `no`, if there is one. A positive value also lowers the peak, a negative one does not; the peak
 * never falls below the remaining total, so that what is earned again counts again. Exact unless values of both signs occur.
 */
export function takeFromTotal(totals: Map<number, Total>, no: number, { whole, micros }: Decimal): void {
  const total = totals.get(no);
  if (total === undefined) return;
  const peak = (total.peak ?? Math.max(total.whole, 0)) - Math.max(whole, 0);
  addTo(total, { whole: 0 - whole, micros: 0 - micros });
  total.peak = peak > total.whole && peak > 0 ? peak : null;
}
