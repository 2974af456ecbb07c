import { dateOf, periodEnd, periodOf, periodStart, type Frequency, type WeekStart } from '../../domain/periods.ts';
import { settledStreak, type StreakAsLeft, type StreakResponse } from '../../domain/streak.ts';

interface Calendar {
  frequency: Frequency;
  weekStart: WeekStart;
}

/** The period in which the streak that a state holds began; without one, the current period. */
export const firstPeriodOf = (live: StreakAsLeft, current: number, { frequency, weekStart }: Calendar): number =>
  live.length === 0 || live.startDay === null ? current : periodOf(live.startDay, frequency, weekStart);

/** The length that a run of met periods had reached in each of them. */
function lengths(metPeriods: readonly number[]): Map<number, number> {
  const reached = new Map<number, number>();
  for (const period of metPeriods) reached.set(period, (reached.get(period - 1) ?? 0) + 1);
  return reached;
}

/**
 * The streak's length in each of the last `count` periods, oldest first, the current one last. Inside the streak that
 * the state holds the lengths count back from its length, elsewhere up through the met periods; a period that was
 * not met has 0, and the current one, while it waits, the length so far.
 * @param earlier periods met before the streak that the state holds, ascending
 */
export function streakHistory({
  live,
  earlier,
  current,
  count,
  calendar,
}: {
  live: StreakAsLeft;
  earlier: readonly number[];
  current: number;
  count: number;
  calendar: Calendar;
}): StreakResponse['streakHistory'] {
  const first = firstPeriodOf(live, current, calendar);
  const last = live.lastPeriod ?? -1;
  const before = lengths(earlier);
  const lengthIn = (period: number): number => {
    if (period === current) return settledStreak(live, current).length;
    if (period < first) return before.get(period) ?? 0;
    // A zone change may have taken the last met period a day on; then a length is shared.
    return live.length > 0 && period <= last ? Math.max(1, live.length - (last - period)) : 0;
  };
  return Array.from({ length: count }, (_, index) => {
    const period = current - count + 1 + index;
    return {
      periodStart: dateOf(periodStart(period, calendar.frequency, calendar.weekStart)),
      periodEnd: dateOf(periodEnd(period, calendar.frequency, calendar.weekStart)),
      length: lengthIn(period),
      usedFreeze: false,
      usedPause: false,
    };
  });
}
