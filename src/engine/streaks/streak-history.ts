import { dateOf, periodEnd, periodStart } from '../../domain/periods.ts';
import type { Settlement } from '../../domain/settle-streaks.ts';
import type { StreakAsLeft, StreakResponse } from '../../domain/streak.ts';
import { reachedLengths, resetPeriods, upToResets, type Calendar } from '../../domain/reached-lengths.ts';

/**
 * The streak's length in each of the last `count` periods, oldest first, the current one last, with what excused them
 * (see `reachedLengths`). A period that was neither met nor excused has 0, and the current one, while it waits, the length
 * so far. One in which the streak was reset says when; what it was until then no longer counts.
 * @param live the settled streak
 * @param settlements what became of the user's streaks in this frequency, in order
 * @param dayAt the user's local day at a time (epoch ms)
 */
export function streakHistory({
  live,
  settlements,
  current,
  count,
  calendar,
  dayAt,
}: {
  live: StreakAsLeft;
  settlements: readonly Settlement[];
  current: number;
  count: number;
  calendar: Calendar;
  dayAt: (ms: number) => number;
}): StreakResponse['streakHistory'] {
  const { frequency, weekStart } = calendar;
  const resets = resetPeriods(settlements, calendar, dayAt);
  const counted = upToResets(settlements, resets, calendar);
  const { reached, excused } = reachedLengths({ met: [], settlements: counted, live, calendar });
  const resetAt = new Map([...resets].map(([{ atMs }, period]) => [period, new Date(atMs!).toISOString()]));
  return Array.from({ length: count }, (_, index) => {
    const period = current - count + 1 + index;
    return {
      periodStart: dateOf(periodStart(period, frequency, weekStart)),
      periodEnd: dateOf(periodEnd(period, frequency, weekStart)),
      length: period === current ? live.length : (reached.get(period)?.length ?? 0),
      usedFreeze: excused.get(period) === 'freeze',
      usedPause: excused.get(period) === 'pause',
      ...(resetAt.has(period) && { resetAt: resetAt.get(period)! }),
    };
  });
}
