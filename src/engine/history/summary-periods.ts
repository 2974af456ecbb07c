import type { EventSummaryQuery } from '../../domain/event-summary.ts';
import { dayOf, isDate, periodEnd, periodOf, periodStart, type Days, type WeekStart } from '../../domain/periods.ts';
import { AppError } from '../../errors.ts';

/** Most periods of an event-summary: ten years of days. */
export const MAX_PERIODS = 3_660;

/**
 * The periods that a range touches, oldest first and without a gap. They are whole: the first may begin before the
 * range and the last may end after it, so that a period's figures are the same in every range. 422 for a date that
 * does not exist, a range that ends before it begins or has more than 3,660 periods.
 */
export function summaryPeriods(query: EventSummaryQuery, weekStart: WeekStart): Days[] {
  const { aggregation, startDate, endDate } = query;
  for (const [name, date] of Object.entries({ startDate, endDate })) {
    if (!isDate(date)) throw unprocessable(`${name} is not a date: give a day that exists as YYYY-MM-DD.`);
    // Years before 100 are beyond what the calendar rules can do.
    if (date < '0100') throw unprocessable(`${name} is before the year 100.`);
  }
  const first = dayOf(startDate);
  const last = dayOf(endDate);
  if (last < first) throw unprocessable('endDate is before startDate: a range ends on or after the day it begins.');
  const from = periodOf(first, aggregation, weekStart);
  const to = periodOf(last, aggregation, weekStart);
  if (to - from >= MAX_PERIODS) {
    throw unprocessable(
      `The range from startDate to endDate has more than ${MAX_PERIODS} ${aggregation} periods: ask for parts of it.`,
    );
  }
  return Array.from({ length: to - from + 1 }, (_, index) => ({
    fromDay: periodStart(from + index, aggregation, weekStart),
    toDay: periodEnd(from + index, aggregation, weekStart),
  }));
}

const unprocessable = (text: string): AppError => new AppError('unprocessable', text);
