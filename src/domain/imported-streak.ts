import type { ImportedPeriod } from './imported-user.ts';
import { DAY_MS, dayOf, periodEnd, periodOf, periodStart } from './periods.ts';
import type { Calendar } from './reached-lengths.ts';
import type { Settlement, SettlementKind } from './settle-streaks.ts';

/** A streak in the periods that it is read from. */
interface Chain {
  /** First day (epoch day) of its first period. */
  startDay: number;
  length: number;
  /** The period that it reached last. */
  last: number;
}

interface Past {
  /** Oldest first, without a gap. */
  history: readonly ImportedPeriod[];
  calendar: Calendar;
  /** The period that lasts now: what becomes of its streak is open. */
  current: number;
  /** First day (epoch day) of the streak that lives; null: none does. */
  liveStartDay: number | null;
  /** Periods that the daily sums meet by today's rule, with the day (epoch day) on which each was met. */
  met: ReadonlyMap<number, number>;
  /** The user's local day at a time (epoch ms). */
  dayAt: (ms: number) => number;
}

/**
 * What must have become of a user's streaks for the history of them to read as it does: the inverse of `streakHistory`
 * (`src/engine/streaks/streak-history.ts`). Pure. Where the history begins in the middle of a streak, that began as many
 * periods earlier as it was long. A history does not say whether a streak was extended in the period of its reset before
 * that, nor does it name more than the last reset of a period: it was where the period was met on an earlier day, or on any
 * and has length 0, since the events after the reset would have begun another.
 */
export function settlementsOfHistory({ history, calendar, current, liveStartDay, met, dayAt }: Past): Settlement[] {
  const { frequency, weekStart } = calendar;
  const startOf = (period: number): number => periodStart(period, frequency, weekStart);
  const endOf = (period: number): number => periodEnd(period, frequency, weekStart);
  const settlements: Settlement[] = [];
  const add = (kind: SettlementKind, from: number, to: number, length: number | null = null, atMs?: number): void => {
    settlements.push({ frequency, kind, from, to, length, atMs: atMs ?? (to + 1) * DAY_MS });
  };
  let chain: Chain | null = null;
  for (const [index, each] of history.entries()) {
    const period = periodOf(dayOf(each.periodStart), frequency, weekStart);
    if (period > current) break;
    const { length, usedFreeze = false, usedPause = false, resetAt } = each;
    const isExcused = usedFreeze || usedPause;
    if (resetAt !== undefined) {
      const atMs = Date.parse(resetAt);
      const metDay = met.get(period);
      const wasExtended = metDay !== undefined && (length === 0 || metDay < dayAt(atMs));
      if (chain === null) add('reset', startOf(period), endOf(period), 1, atMs);
      else if (wasExtended) add('reset', chain.startDay, endOf(period), chain.length + 1, atMs);
      else add('reset', chain.startDay, endOf(chain.last), chain.length, atMs);
      chain = null;
    }
    if (chain !== null && !continues(chain, { length, isExcused, isCurrent: period === current })) {
      add(length > 0 ? 'replaced' : 'lost', chain.startDay, endOf(chain.last), chain.length);
      chain = null;
    }
    if (usedFreeze) add('freeze', startOf(period), endOf(period));
    else if (usedPause) add('pause', startOf(period), endOf(period));
    if (length === 0) continue;
    if (chain === null) {
      // In the middle: of the live one it is known where it began.
      const isRestored = index > 0 && (length > 1 || isExcused);
      const startDay =
        (isRestored && livesFrom(history.slice(index)) ? liveStartDay : null) ??
        (isRestored ? lostStart(settlements, length, isExcused) : undefined) ??
        startOf(period - (isExcused ? length : length - 1));
      if (isRestored) add('restored', startDay, startOf(period), length);
      chain = { startDay, length, last: period };
      continue;
    }
    if (length === chain.length && !isExcused && period !== current) add('off', startOf(period), endOf(period));
    chain.length = length;
    chain.last = period;
  }
  return settlements;
}

/** Whether a period goes on with a streak: it is one longer, or as long and excused, or waits. */
const continues = (
  chain: Chain,
  { length, isExcused, isCurrent }: { length: number; isExcused: boolean; isCurrent: boolean },
): boolean => length > 0 && (length === chain.length || (length === chain.length + 1 && (!isExcused || isCurrent)));

/** Whether the streak of the first of some periods is still the one of the last. */
function livesFrom(periods: readonly ImportedPeriod[]): boolean {
  return periods.every(({ length, resetAt }, index) => {
    const before = periods[index - 1];
    if (before === undefined) return true;
    return resetAt === undefined && length > 0 && (length === before.length || length === before.length + 1);
  });
}

/** Where a streak began that was restored to a length, or to one less and extended at once: a lost one was as long. */
const lostStart = (settlements: readonly Settlement[], length: number, isExcused: boolean): number | undefined =>
  ((isExcused ? undefined : endedAt(settlements, length - 1)) ?? endedAt(settlements, length))?.from;

const endedAt = (settlements: readonly Settlement[], length: number): Settlement | undefined =>
  settlements.findLast((one) => ['lost', 'reset', 'replaced'].includes(one.kind) && one.length === length);
