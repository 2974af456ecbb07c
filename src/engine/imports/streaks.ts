import { randomUUID } from 'node:crypto';
import { earnedDayOf, settlementsOfHistory } from '../../domain/streaks/imported-streak.ts';
import type { ImportedStreak, ImportedUser } from '../../domain/imported-user.ts';
import { dayOf, FREQUENCIES, isDate, periodEnd, periodOf, periodStart } from '../../domain/periods.ts';
import { type Settlement, settleStreaks } from '../../domain/streaks/settle.ts';
import { decimalOfMicros } from '../../domain/decimal.ts';
import { dayIn, dayStartMs } from '../../domain/zone.ts';
import { factsOfNewUser } from '../corrections/streak-facts.ts';
import { StreakMachine } from '../../rules/streak-machine.ts';
import { factsFrom, type StreakFacts } from '../../rules/streak-replay.ts';
import type { Streak } from '../../rules/user.ts';
import { BadImport, type Draft } from './draft.ts';
import { timeMs } from './profile.ts';

/**
 * Adds streaks. In each frequency, the streak follows from the daily history by today's rules; in the configured frequency,
 * a streak given in the import replaces it. Totals and preferences must have been added before. Throws BadImport.
 */
export function addStreaks(draft: Draft, { streak }: ImportedUser): void {
  const { compiled, state, today } = draft;
  const { frequency } = compiled.catalog.streaks;
  for (const { start, end } of streak?.pauses ?? []) {
    if (!isDate(start) || !isDate(end) || end < start)
      throw new BadImport(`streak.pauses: ${start} to ${end} is not a period.`);
    draft.pauses.push({ id: randomUUID().replaceAll('-', ''), from: dayOf(start), to: dayOf(end) });
  }
  draft.pauses.sort((a, b) => a.from - b.from);
  const { machine, met, facts } = replayed(draft);
  const streaks = { ...machine.streaks };
  const atMidnight = (one: Settlement): Settlement => ({ ...one, atMs: dayStartMs(draft.tz ?? 'UTC', one.to + 1) });
  draft.settlements = machine.settlements.map(atMidnight);
  let { freezes } = machine;
  let earnedDay = earnedBefore(draft, streak?.frequency === frequency ? streak : undefined);
  if (streak !== undefined && streak.frequency === frequency) {
    const past = asItWas(draft, streak, { live: streaks[frequency], met });
    // If the last day to act is over, the midnights since then are settled here.
    const imported = { streaks: { ...streaks, [frequency]: past.live }, freezes: streak.freezes ?? 0, earnedDay };
    const settled = settleStreaks({ ...facts, ...imported, pauses: draft.pauses }, facts.rule, today);
    streaks[frequency] = { ...past.live, ...settled.streaks[frequency] };
    freezes = settled.freezes;
    earnedDay = settled.earnedDay ?? earnedDay;
    if (settled.streaks[frequency].length < past.live.length)
      draft.changed.push(
        `streak: its last day to act was ${streak.expires}; neither freezes nor pauses cover the time since then, so it is lost`,
      );
    draft.settlements = [
      ...draft.settlements.filter((one) => one.frequency !== frequency),
      ...past.settlements,
      ...settled.settlements.map(atMidnight),
    ];
  } else if (streak !== undefined) {
    draft.changed.push(
      `streak: it is ${streak.frequency} there and ${frequency} here; the streak is computed from the daily history`,
    );
  }
  state.streaks = streaks;
  state.freezes = Math.max(0, freezes);
  state.earnedDay = earnedDay;
  state.pauses = draft.pauses.filter(({ to }) => to >= today);
}

/** The streaks that follow from the daily history, and the day on which each period was met. */
function replayed(draft: Draft): { machine: StreakMachine; met: ReadonlyMap<number, number>; facts: StreakFacts } {
  const { compiled, state, tz, today, nowMs, days } = draft;
  const { facts } = factsOfNewUser(compiled, tz, nowMs, { streakRule: state.streakRule, daysOff: state.daysOff });
  const { frequency, weekStart } = compiled.catalog.streaks;
  const firstDay = days.reduce((first, { day }) => Math.min(first, day), today);
  const begin = factsFrom(firstDay, weekStart);
  const machine = new StreakMachine({ ...facts, pauses: draft.pauses, endedBefore: [], resetsMade: new Set() }, begin);
  machine.freezes = facts.now.freezes;
  for (const each of FREQUENCIES)
    machine.begin(each, periodStart(periodOf(begin, each, weekStart), each, weekStart), {
      length: 0,
      startDay: null,
      lastPeriod: null,
    });
  const met = new Map<number, number>();
  for (const { metricNo, day, change } of days.toSorted((a, b) => a.day - b.day)) {
    if (day > today) continue;
    machine.take({ do: 'event', metricNo, value: decimalOfMicros(change), day, atMs: dayStartMs(tz ?? 'UTC', day) });
    const period = periodOf(day, frequency, weekStart);
    if (machine.streaks[frequency].lastPeriod === period && !met.has(period)) met.set(period, day);
  }
  machine.settleTo(today);
  return { machine, met, facts };
}

/** The day from which the interval for the next freeze counts: where the history leaves it, or today without a history. */
function earnedBefore({ compiled, state, tz, today }: Draft, streak: ImportedStreak | undefined): number {
  const { initial, max, autoEarnInterval: interval, autoEarnAmount: amount } = compiled.catalog.streaks.freezes;
  if (interval === null || amount === null) return today;
  const { history = [], freezes = 0 } = streak ?? {};
  const last = history.at(-1);
  const day = last === undefined ? today : Math.min(today, dayOf(last.periodEnd));
  const createdDay = dayIn(tz, state.createdMs);
  return earnedDayOf({ history, freezes, day, createdDay, initial, interval, amount, max });
}

/** The imported streak in the configured frequency; the history decides about the current period. */
function asItWas(
  draft: Draft,
  streak: ImportedStreak,
  byHistory: { live: Streak; met: ReadonlyMap<number, number> },
): { live: Streak; settlements: ReturnType<typeof settlementsOfHistory> } {
  const { compiled, today, nowMs } = draft;
  const { frequency, weekStart } = compiled.catalog.streaks;
  const { length, history = [] } = streak;
  const current = periodOf(today, frequency, weekStart);
  const extendedMs = streak.extended === undefined ? null : Math.min(timeMs('streak.extended', streak.extended), nowMs);
  const lastPeriod = lastMet(draft, { streak, extendedMs, current });
  const startDay =
    length === 0
      ? null
      : streak.started === undefined
        ? periodStart(lastPeriod - length + 1, frequency, weekStart)
        : dayOf(streak.started);
  // Tomorrow is possible if the source's zone is east of the user's zone here.
  const latest = lastPeriod < current - 1 ? periodEnd(lastPeriod, frequency, weekStart) : today + 1;
  if (startDay !== null && startDay > latest)
    throw new BadImport(`streak.started is in the future, or after the streak expired: '${streak.started}'.`);
  const live: Streak = {
    ...byHistory.live,
    length,
    startDay,
    lastPeriod: length === 0 ? byHistory.live.lastPeriod : lastPeriod,
    extendedMs,
  };
  for (const { periodStart: start, periodEnd: end, resetAt } of history) {
    if (!isDate(start) || !isDate(end)) throw new BadImport(`streak.history: ${start} to ${end} is not a period.`);
    if (resetAt !== undefined) timeMs('streak.history.resetAt', resetAt);
  }
  const calendar = { frequency, weekStart };
  const { met } = byHistory;
  const dayAt = (ms: number): number => dayIn(draft.tz, ms);
  return {
    live,
    settlements: settlementsOfHistory({ history, calendar, current, liveStartDay: startDay, met, dayAt }),
  };
}

/**
 * The last period that is met or excused. If `expires` is over, it is the period before that of `expires`; otherwise
 * the current period or the one before.
 */
function lastMet(draft: Draft, of: { streak: ImportedStreak; extendedMs: number | null; current: number }): number {
  const { frequency, weekStart } = draft.compiled.catalog.streaks;
  const { streak, current } = of;
  const expires = streak.expires === undefined ? current : periodOf(dayOf(streak.expires), frequency, weekStart);
  if (expires < current) return expires - 1;
  return isMet(draft, of) ? current : current - 1;
}

/** Whether the current period is met: the streak was extended in it, or expires at the end of the next one. */
function isMet(
  { compiled, tz }: Draft,
  { streak, extendedMs, current }: { streak: ImportedStreak; extendedMs: number | null; current: number },
): boolean {
  const { frequency, weekStart, daysOff } = compiled.catalog.streaks;
  if (streak.expires !== undefined && daysOff.length === 0)
    return dayOf(streak.expires) > periodEnd(current, frequency, weekStart);
  return extendedMs !== null && periodOf(dayIn(tz, extendedMs), frequency, weekStart) >= current;
}
