import { MAX_DAYS } from '../../domain/activity.ts';
import { DAY_MS, dateOf, dayOf, isDate, type Days } from '../../domain/periods.ts';
import { AppError } from '../../errors.ts';

/** Days that are shown unless others are asked for. */
const SHOWN = 30;

/**
 * The days from one UTC date to another, both included; by default the last 30 up to today. 422 for a date that does not exist, a
 * range that ends before it begins, or has more than 366 days.
 */
export function activityDays({ from, to }: { from?: string; to?: string }, nowMs: number): Days {
  for (const [name, date] of Object.entries({ from, to }))
    if (date !== undefined && !isDate(date))
      throw unprocessable(`${name} is not a date: give a day that exists as YYYY-MM-DD.`);
  const toDay = to === undefined ? Math.max(Math.floor(nowMs / DAY_MS), dayOf(from ?? '1970-01-01')) : dayOf(to);
  const fromDay = from === undefined ? toDay - SHOWN + 1 : dayOf(from);
  if (toDay < fromDay) throw unprocessable('to is before from: a range ends on or after the day it begins.');
  if (toDay - fromDay >= MAX_DAYS)
    throw unprocessable(
      `The range from ${dateOf(fromDay)} to ${dateOf(toDay)} has more than ${MAX_DAYS} days: ask for parts of it.`,
    );
  return { fromDay, toDay };
}

const unprocessable = (text: string): AppError => new AppError('unprocessable', text);
