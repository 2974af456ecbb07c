import type { EventSummaryQuery } from '../../domain/event-summary.ts';
import { dayOf, isDate, periodEnd, periodOf, periodStart, type WeekStart } from '../../domain/periods.ts';
import { AppError } from '../../errors.ts';

/** The longest range of an event-summary, from its first day to its last. */
export const MAX_RANGE_DAYS = 400;

/** First and last epoch day of a period. */
export interface SummaryPeriod {
  fromDay: number;
  toDay: number;
}

/**
 * The periods that a range touches, oldest first and without a gap. They are whole: the first may begin before the
 * range and the last may end after it, so that a period's figures are the same in every range. 422 for a date that
 * does not exist, a range that ends before it begins or is longer than 400 days.
 */
export function summaryPeriods(query: EventSummaryQuery, weekStart: WeekStart): SummaryPeriod[] {
  const { aggregation, startDate, endDate } = query;
  for (const [name, date] of Object.entries({ startDate, endDate })) {
    // Years before 100 are beyond what the calendar rules can do.
    if (!isDate(date) || date < '0100')
      throw unprocessable(`${name} is not a date: give a day that exists as YYYY-MM-DD.`);
  }
  const first = dayOf(startDate);
  const last = dayOf(endDate);
  if (last < first) throw unprocessable('endDate is before startDate: a range ends on or after the day it begins.');
  if (last - first > MAX_RANGE_DAYS) {
    throw unprocessable(
      `The range from startDate to endDate is longer than ${MAX_RANGE_DAYS} days: ask for parts of it.`,
    );
  }
  const from = periodOf(first, aggregation, weekStart);
  const to = periodOf(last, aggregation, weekStart);
  return Array.from({ length: to - from + 1 }, (_, index) => ({
    fromDay: periodStart(from + index, aggregation, weekStart),
    toDay: periodEnd(from + index, aggregation, weekStart),
  }));
}

const unprocessable = (text: string): AppError => new AppError('unprocessable', text);
