import { periodOf, periodStart, type Frequency } from './periods.ts';
import { periodEndedOn, reachedLengths, resetPeriods, upToResets } from './reached-lengths.ts';
import type { StreakAsLeft } from './streak.ts';
import type { RecordedGain, RecordedSettlement, StreakFacts } from './streak-facts.ts';

/** A streak at the beginning of a period, with the freezes of that time and the settlements before and after. */
export interface ReplayStart {
  frequency: Frequency;
  /** First day (epoch day) of the period. */
  day: number;
  streak: StreakAsLeft;
  freezes: number;
  earnedDay: number | null;
  /** Settlements before the period. */
  before: RecordedSettlement[];
  /** Settlements since, including those that extend across the beginning of the period. */
  since: RecordedSettlement[];
}

/** The recorded state of a frequency at the beginning of the period that contains `firstDay`. */
export function startOf(facts: StreakFacts, frequency: Frequency, firstDay: number): ReplayStart {
  const { rule, settlements, now, dayAt } = facts;
  const calendar = { frequency, weekStart: rule.weekStart };
  const period = periodOf(firstDay, frequency, rule.weekStart);
  const day = periodStart(period, frequency, rule.weekStart);
  const own = settlements.filter((one) => one.frequency === frequency);
  const resets = resetPeriods(own, calendar, dayAt);
  const counted = upToResets(own, resets, calendar);
  const { reached } = reachedLengths({ met: [], settlements: counted, live: now.streaks[frequency], calendar });
  const then = reached.get(period - 1);
  const streak = then === undefined ? NONE : { ...then, lastPeriod: period - 1 };
  const since = own.filter((one) => isSince(one, day, dayAt));
  return { frequency, day, streak, ...freezesAt(facts, day), before: own.filter((one) => !since.includes(one)), since };
}

const NONE: StreakAsLeft = { length: 0, startDay: null, lastPeriod: null };

/** Whether a settlement happened on or after a day: at the midnight that ended the day, or by a call on that day. */
function isSince({ kind, to, atMs }: RecordedSettlement, day: number, dayAt: (ms: number) => number): boolean {
  switch (kind) {
    case 'freeze':
    case 'pause':
    case 'off':
    case 'restored':
      return to >= day;
    case 'lost':
      return to >= day - 1;
    case 'reset':
    case 'replaced':
      return dayAt(atMs) >= day;
  }
}

/** The freezes at the beginning of a day, including those earned then: today's plus those used since, minus those received since. */
function freezesAt(facts: StreakFacts, day: number): Pick<ReplayStart, 'freezes' | 'earnedDay'> {
  const { now, gains, rule, settlements, createdMs, dayAt } = facts;
  const calendar = { frequency: rule.frequency, weekStart: rule.weekStart };
  let freezes = now.freezes;
  for (const { kind, frequency, from, to } of settlements) {
    if (kind !== 'freeze' || frequency !== rule.frequency || to < day) continue;
    const first = periodOf(Math.max(from, day), frequency, rule.weekStart);
    freezes += periodEndedOn(to, calendar) - first + 1;
  }
  for (const gain of gains) if (isGainSince(gain, day)) freezes -= gain.count;
  let { earnedDay } = now;
  if (rule.earning !== null && earnedDay !== null) {
    const [interval, , , sinceMs] = rule.earning;
    const first = dayAt(Math.max(createdMs, sinceMs));
    while (earnedDay > day && earnedDay - interval >= first) earnedDay -= interval;
  }
  return { freezes: Math.max(0, freezes), earnedDay };
}

/** Whether freezes were received after those that were earned when the day began. */
export const isGainSince = (gain: RecordedGain, day: number): boolean =>
  gain.kind === 'given' ? gain.day >= day : gain.day > day;
