import type { ImportedPeriod } from '../imported-user.ts';
import { DAY_MS, dayOf, periodEnd, periodOf, periodStart } from '../periods.ts';
import type { Calendar } from './reached-lengths.ts';
import type { Settlement, SettlementKind } from './settle.ts';

/** A streak and the periods that it was read from. */
interface Chain {
  /** First day (epoch day) of its first period. */
  startDay: number;
  length: number;
  /** The last period that it reached. */
  last: number;
}

interface Past {
  /** Oldest first, without gaps. */
  history: readonly ImportedPeriod[];
  calendar: Calendar;
  /** The current period, whose outcome is still open. */
  current: number;
  /** First day (epoch day) of the current streak; `null` if there is none. */
  liveStartDay: number | null;
  /** Periods whose daily sums meet today's rule, with the epoch day on which they did. */
  met: ReadonlyMap<number, number>;
  /** Converts a time (epoch ms) to the user's local day. */
  dayAt: (ms: number) => number;
}

/**
 * Derives the settlements that explain a streak history: the inverse of `streakHistory`
 * (`src/engine/streaks/streak-reads.ts`). Pure. If the history begins in the middle of a streak, the streak's first period
 * follows from its length.
 *
 * A history does not show whether a streak was extended before a reset in the same period, and shows only a period's last
 * reset. The streak counts as extended if the period was met on an earlier day, or if it was met on any day and has length
 * 0, because events after the reset would have started a new streak.
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
      // The history begins in the middle of a streak. The start of the current streak is known.
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

/** Whether a period continues a streak: it is one longer, or as long and excused, or still open. */
const continues = (
  chain: Chain,
  { length, isExcused, isCurrent }: { length: number; isExcused: boolean; isCurrent: boolean },
): boolean => length > 0 && (length === chain.length || (length === chain.length + 1 && (!isExcused || isCurrent)));

/** Whether the streak of the first period is still alive in the last. */
function livesFrom(periods: readonly ImportedPeriod[]): boolean {
  return periods.every(({ length, resetAt }, index) => {
    const before = periods[index - 1];
    if (before === undefined) return true;
    return resetAt === undefined && length > 0 && (length === before.length || length === before.length + 1);
  });
}

/** Start of the lost streak that was restored to `length`, or to one less and extended in the same period. */
const lostStart = (settlements: readonly Settlement[], length: number, isExcused: boolean): number | undefined =>
  ((isExcused ? undefined : endedAt(settlements, length - 1)) ?? endedAt(settlements, length))?.from;

const endedAt = (settlements: readonly Settlement[], length: number): Settlement | undefined =>
  settlements.findLast((one) => ['lost', 'reset', 'replaced'].includes(one.kind) && one.length === length);

interface EarnedBefore {
  /** Oldest first, without gaps. */
  history: readonly ImportedPeriod[];
  /** Freezes on `day`. */
  freezes: number;
  /** Epoch days: the day that these facts describe, and the day on which the user was first seen. */
  day: number;
  createdDay: number;
  initial: number;
  interval: number;
  amount: number;
  max: number;
}

/** Older history is ignored. */
const MOST_EARNING_DAYS = 1_000;

/**
 * Estimates the local day (epoch day, at most `day`) from which the next earning interval counts: the inverse of `earnFreezes`
 * (`src/domain/streaks/settle.ts`). Pure.
 *
 * Intervals count from the day on which a user was first seen, or from a later day on which earning was configured. The
 * Application API does not show the latter, so it is inferred: a used freeze had been earned, and a user who lost a
 * streak had none. The first-seen day wins unless another day explains at least two more uses, losses or freezes, because
 * administrators may have given freezes.
 */
export function earnedDayOf(past: EarnedBefore): number {
  const { day, createdDay, interval } = past;
  const byCreation = Math.max(0, day - createdDay) % interval;
  const midnights = freezeMidnights(past.history, day);
  const unexplained = (age: number): number => unexplainedBy(day - age, past, midnights);
  const own = unexplained(byCreation);
  let [age, least] = [byCreation, own - 1];
  for (let other = 0; other < Math.min(interval, MOST_EARNING_DAYS) && least > 0; other++) {
    const cost = unexplained(other);
    if (cost < least) [age, least] = [other, cost];
  }
  return day - age;
}

/** The epoch days at whose end a freeze was used, or a streak was lost for lack of one. */
function freezeMidnights(history: readonly ImportedPeriod[], day: number): [day: number, kind: 'used' | 'lost'][] {
  return history.flatMap(({ periodEnd: end, length, usedFreeze, resetAt }, index): [number, 'used' | 'lost'][] => {
    const lastDay = dayOf(end);
    if (lastDay >= day) return [];
    if (usedFreeze) return [[lastDay, 'used']];
    const isLost = length === 0 && (history[index - 1]?.length ?? 0) > 0 && resetAt === undefined;
    return isLost ? [[lastDay, 'lost']] : [];
  });
}

/** How many uses, losses and current freezes are impossible if earning intervals start on a given day. */
function unexplainedBy(
  begin: number,
  { history, freezes, day, createdDay, initial, interval, amount, max }: EarnedBefore,
  midnights: readonly [day: number, kind: 'used' | 'lost'][],
): number {
  const [first] = history;
  const isWhole =
    first === undefined || dayOf(first.periodStart) <= createdDay || (first.length === 0 && !first.usedFreeze);
  const start = Math.max(createdDay, day - MOST_EARNING_DAYS);
  const from = isWhole || first === undefined ? start : Math.max(start, dayOf(first.periodStart));
  // Index: number of freezes held. Value: how much stays unexplained with that number.
  let costs: number[] = Array.from({ length: Math.max(max, initial, freezes) + 1 }, (_, held) =>
    from > createdDay || held === initial ? 0 : 1,
  );
  let next = midnights.findIndex(([at]) => at >= from);
  if (next === -1) next = midnights.length;
  const passTo = (until: number): void => {
    for (; next < midnights.length && midnights[next]![0] < until; next++)
      costs = midnights[next]![1] === 'used' ? afterUse(costs) : afterLoss(costs);
  };
  for (let at = begin - Math.floor((begin - from) / interval) * interval; at <= day; at += interval) {
    if (at <= createdDay || at <= from) continue;
    passTo(at);
    costs = afterEarning(costs, amount, max);
  }
  passTo(day);
  return costs.reduce((least, cost, held) => Math.min(least, held === freezes ? cost : cost + 1), Infinity);
}

const afterUse = (costs: readonly number[]): number[] =>
  costs.map((_, held) => Math.min(costs[held + 1] ?? Infinity, held === 0 ? costs[0]! + 1 : Infinity));

const afterLoss = (costs: readonly number[]): number[] =>
  costs.map((cost, held) => (held === 0 ? Math.min(cost, ...costs.slice(1).map((other) => other + 1)) : Infinity));

function afterEarning(costs: readonly number[], amount: number, max: number): number[] {
  const after = costs.map(() => Infinity);
  for (const [held, cost] of costs.entries()) {
    const now = Math.max(held, Math.min(held + amount, max));
    after[now] = Math.min(after[now]!, cost);
  }
  return after;
}
