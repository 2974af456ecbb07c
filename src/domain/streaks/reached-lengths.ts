import { type Frequency, periodOf, periodStart, type WeekStart } from '../periods.ts';
import type { Settlement, SettlementKind } from './settle.ts';
import type { StreakAsLeft } from './streak.ts';

export interface Calendar {
  frequency: Frequency;
  weekStart: WeekStart;
}

export interface Reached {
  length: number;
  startDay: number;
}

/** Why a streak survived a period that was not met. */
export type Excuse = Extract<SettlementKind, 'freeze' | 'pause' | 'off'>;

/** The known history of a user's streaks in one frequency. */
export interface StreakPast {
  /** Met periods, ascending. Periods of the current streak may be missing. */
  met: readonly number[];
  /** Changes to the streaks, in order. */
  settlements: readonly Settlement[];
  live: StreakAsLeft;
  calendar: Calendar;
}

/** Tolerance for weeks that once began on another day: a date belongs to the week that holds most of its seven days. */
const half = (frequency: Frequency): number => (frequency === 'weekly' ? 3 : 0);

/** The period that begins on or near a day. */
const periodBegunOn = (day: number, { frequency, weekStart }: Calendar): number =>
  periodOf(day + half(frequency), frequency, weekStart);

/** The period that ends on or near a day. */
export const periodEndedOn = (day: number, { frequency, weekStart }: Calendar): number =>
  periodOf(day - half(frequency), frequency, weekStart);

/**
 * Returns the length in each period that was met or excused, and the excuse. Lengths of lost, reset, replaced and current
 * streaks count back from the final length; before recorded settlements, lengths count up through the met periods. Periods
 * between the loss and the restoration of a streak keep their own lengths.
 */
export function reachedLengths({ met, settlements, live, calendar: { frequency, weekStart } }: StreakPast): {
  reached: Map<number, Reached>;
  excused: Map<number, Excuse>;
} {
  const periodAt = (day: number): number => periodOf(day, frequency, weekStart);
  const begunOn = (day: number): number => periodBegunOn(day, { frequency, weekStart });
  const endedOn = (day: number): number => periodEndedOn(day, { frequency, weekStart });
  const excused = new Map<number, Excuse>();
  for (const { kind, from, to } of settlements) {
    if (kind !== 'freeze' && kind !== 'pause' && kind !== 'off') continue;
    for (let period = begunOn(from); period <= endedOn(to); period++) excused.set(period, kind);
  }
  const reached = new Map<number, Reached>();
  const isMet = new Set(met);
  for (const period of [...new Set([...met, ...excused.keys()])].sort((a, b) => a - b)) {
    const before = reached.get(period - 1) ?? { length: 0, startDay: periodStart(period, frequency, weekStart) };
    const length = before.length + (isMet.has(period) ? 1 : 0);
    if (length > 0) reached.set(period, { length, startDay: before.startDay });
  }
  /** Counts back from a streak's length in its last period, down to the point where it was restored. */
  const countBack = (startDay: number, last: number, length: number, before: readonly Settlement[]): void => {
    const restored = before.findLast(({ kind, from }) => kind === 'restored' && from === startDay);
    const first = restored === undefined ? begunOn(startDay) : periodAt(restored.to);
    let left = length;
    for (let period = last; period >= first; period--) {
      // A change of zone may have moved the last met period one day on; two periods then share a length.
      reached.set(period, { length: Math.max(1, left), startDay });
      if (!excused.has(period)) left -= 1;
    }
  };
  for (const [index, { kind, from, to, length }] of settlements.entries())
    if (kind === 'lost' || kind === 'reset' || kind === 'replaced')
      countBack(from, endedOn(to), length ?? 0, settlements.slice(0, index));
  if (live.length > 0 && live.startDay !== null)
    countBack(live.startDay, live.lastPeriod ?? -1, live.length, settlements);
  return { reached, excused };
}

/** The period of each reset: the last one in which the streak was kept, or the next one if the reset came on a later day. */
export function resetPeriods(
  settlements: readonly Settlement[],
  calendar: Calendar,
  dayAt: (ms: number) => number,
): Map<Settlement, number> {
  const periods = new Map<Settlement, number>();
  for (const one of settlements) {
    if (one.kind !== 'reset' || one.atMs === undefined) continue;
    periods.set(one, periodEndedOn(one.to, calendar) + (dayAt(one.atMs) > one.to ? 1 : 0));
  }
  return periods;
}

/**
 * Cuts the periods in which resets happened off the streaks: off the streak that was reset, and off any streak that it had
 * replaced there by a restoration.
 * @param settlements in order
 * @param resets see `resetPeriods`
 */
export function upToResets(
  settlements: readonly Settlement[],
  resets: ReadonlyMap<Settlement, number>,
  calendar: Calendar,
): Settlement[] {
  const resetLater = new Set<number>();
  const counted: Settlement[] = [];
  for (const one of settlements.toReversed()) {
    const period = resets.get(one);
    if (period !== undefined) resetLater.add(period);
    const ended = periodEndedOn(one.to, calendar);
    const isReset = one.kind === 'replaced' && resetLater.has(ended);
    counted.push(...upToReset(one, isReset ? ended : period, calendar));
  }
  return counted.reverse();
}

/** Cuts the period of its reset off a streak. Other streaks stay unchanged. */
function upToReset(one: Settlement, period: number | undefined, calendar: Calendar): Settlement[] {
  if (period === undefined || periodEndedOn(one.to, calendar) < period) return [one];
  const length = (one.length ?? 0) - 1;
  const { frequency, weekStart } = calendar;
  return length > 0 ? [{ ...one, to: periodStart(period, frequency, weekStart) - 1, length }] : [];
}
