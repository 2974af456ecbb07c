import { dateOf, dayOf, periodOf, periodStart, type Frequency, type WeekStart } from './periods.ts';

const WINDOW_DAYS = 90;

/**
 * First day (epoch day) of the window from which a lost streak can be restored: 90 days back; for weekly streaks the week
 * that contains 1 January; for monthly streaks January of the previous year.
 */
export function restoreWindowStart(
  day: number,
  { frequency, weekStart }: { frequency: Frequency; weekStart: WeekStart },
): number {
  if (frequency === 'daily') return day - WINDOW_DAYS;
  const year = Number(dateOf(day).slice(0, 4));
  const firstDay = dayOf(`${frequency === 'weekly' ? year : year - 1}-01-01`);
  return periodStart(periodOf(firstDay, frequency, weekStart), frequency, weekStart);
}
