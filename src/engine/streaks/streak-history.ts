import { dateOf, periodEnd, periodOf, periodStart, type Frequency, type WeekStart } from '../../domain/periods.ts';
import type { Settlement } from '../../domain/settle-streaks.ts';
import type { StreakAsLeft, StreakResponse } from '../../domain/streak.ts';

interface Calendar {
  frequency: Frequency;
  weekStart: WeekStart;
}

/** The period in which a streak began; without one, the current period. */
export const firstPeriodOf = (
  { length, startDay }: StreakAsLeft,
  current: number,
  { frequency, weekStart }: Calendar,
): number => (length === 0 || startDay === null ? current : periodOf(startDay, frequency, weekStart));

/**
 * The streak's length in each of the last `count` periods, oldest first, the current one last, with what excused them.
 * A streak that was lost, and the one that lives, counts back from its length; before those recorded, lengths count up
 * through the met periods. A period that was neither met nor excused has 0, and the current one, while it waits, the
 * length so far. Periods between losing a streak and restoring it keep what they had.
 * @param live the settled streak
 * @param earlier periods met before the streak that lives, ascending
 * @param settlements what became of the user's streaks in this frequency, in order
 */
export function streakHistory({
  live,
  earlier,
  settlements,
  current,
  count,
  calendar,
}: {
  live: StreakAsLeft;
  earlier: readonly number[];
  settlements: readonly Settlement[];
  current: number;
  count: number;
  calendar: Calendar;
}): StreakResponse['streakHistory'] {
  const { frequency, weekStart } = calendar;
  const periodAt = (day: number): number => periodOf(day, frequency, weekStart);
  const excused = new Map<number, 'freeze' | 'pause'>();
  for (const { kind, from, to } of settlements) {
    if (kind !== 'freeze' && kind !== 'pause') continue;
    for (let period = periodAt(from); period <= periodAt(to); period++) excused.set(period, kind);
  }
  const reached = countedUp(earlier, excused);
  /** Counts back from the length that a streak had in its last period. */
  const countBack = (startDay: number, last: number, length: number): void => {
    const restored = settlements.findLast(
      ({ kind, from, to }) => kind === 'restored' && from === startDay && periodAt(to) <= last + 1,
    );
    const first = periodAt(restored?.to ?? startDay);
    let left = length;
    for (let period = last; period >= first; period--) {
      // A zone change may have taken the last met period a day on; then a length is shared.
      reached.set(period, Math.max(1, left));
      if (!excused.has(period)) left -= 1;
    }
  };
  for (const { kind, from, to, length } of settlements) if (kind === 'lost') countBack(from, periodAt(to), length ?? 0);
  if (live.length > 0 && live.startDay !== null) countBack(live.startDay, live.lastPeriod ?? -1, live.length);
  reached.set(current, live.length);
  return Array.from({ length: count }, (_, index) => {
    const period = current - count + 1 + index;
    return {
      periodStart: dateOf(periodStart(period, frequency, weekStart)),
      periodEnd: dateOf(periodEnd(period, frequency, weekStart)),
      length: reached.get(period) ?? 0,
      usedFreeze: excused.get(period) === 'freeze',
      usedPause: excused.get(period) === 'pause',
    };
  });
}

/** The length reached in each met or excused period. */
function countedUp(met: readonly number[], excused: ReadonlyMap<number, unknown>): Map<number, number> {
  const isMet = new Set(met);
  const reached = new Map<number, number>();
  for (const period of [...new Set([...met, ...excused.keys()])].sort((a, b) => a - b)) {
    const length = (reached.get(period - 1) ?? 0) + (isMet.has(period) ? 1 : 0);
    if (length > 0) reached.set(period, length);
  }
  return reached;
}
