import type { Frequency } from './periods.ts';
import { isGainSince, startOf } from './replay-start.ts';
import { FREQUENCIES, type Settlement } from './settle-streaks.ts';
import type { RecordedGain, RecordedSettlement, StreakFacts } from './streak-facts.ts';
import type { RunningStreak, StreakMachine } from './streak-machine.ts';

/** What becomes of the records: nothing is erased, rows that no longer hold are superseded by others. */
export interface SettlementRepair {
  /** Numbers of the stored rows that no longer hold. */
  superseded: string[];
  /**
   * What became of the streaks instead, in order; those with a time happened then, the others now. What was settled by now
   * and is not stored, and still holds, is among `unstored`.
   */
  settlements: Settlement[];
  gains: StreakMachine['gains'];
  unstored: { settlements: RecordedSettlement[]; gains: RecordedGain[] };
}

/** What replaying comes to: the streaks, and what becomes of the records. */
export interface StreakReplay extends SettlementRepair {
  streaks: Record<Frequency, RunningStreak>;
  freezes: number;
  earnedDay: number | null;
  /** Whether replaying what was came to what is recorded. */
  exact: boolean;
  /** The lengths that the streak that counts was extended to, as it was and as it is to be. */
  reached: { was: readonly number[]; is: readonly number[] };
  /** The greatest lengths that the streaks were extended to since the first change. */
  most: Readonly<Record<Frequency, number>>;
}

interface Replayed {
  facts: StreakFacts;
  firstDay: number;
  was: StreakMachine;
  is: StreakMachine;
}

/** What replaying comes to: see `replayStreaks`. */
export function changesOf({ facts, firstDay, was, is }: Replayed): StreakReplay {
  const replay: StreakReplay = {
    streaks: { ...facts.now.streaks },
    freezes: facts.now.freezes,
    earnedDay: facts.now.earnedDay,
    superseded: [],
    settlements: [],
    gains: [],
    unstored: { settlements: [], gains: [] },
    exact: true,
    reached: { was: was.reached, is: is.reached },
    most: is.most,
  };
  for (const frequency of FREQUENCIES) ofFrequency(replay, frequency, { facts, firstDay, was, is });
  ofFreezes(replay, { facts, firstDay, was, is });
  return replay;
}

function ofFrequency(replay: StreakReplay, frequency: Frequency, { facts, firstDay, was, is }: Replayed): void {
  const now = facts.now.streaks[frequency];
  const [before, after] = [was.streaks[frequency], is.streaks[frequency]];
  const recorded = startOf(facts, frequency, firstDay);
  const of = (machine: StreakMachine): Settlement[] => machine.settlements.filter((one) => one.frequency === frequency);
  const since = joined(recorded.since.flatMap((one) => cutOff(one, recorded.day)));
  const isExact = sameStreak(now, before) && sameList(since, joined(of(was)));
  const unstored = facts.settlements.filter((one) => one.frequency === frequency && one.no === undefined);
  replay.exact &&= isExact;
  replay.streaks[frequency] = isExact ? replaced(now, after) : moved(now, before, after);
  if (!isExact || sameList(since, joined(of(is)))) {
    replay.unstored.settlements.push(...unstored);
    return;
  }
  replay.superseded.push(...recorded.since.flatMap(({ no }) => no ?? []));
  replay.unstored.settlements.push(...unstored.filter((one) => recorded.before.includes(one)));
  // What reaches over the beginning of the replay goes on to hold up to there.
  replay.settlements.push(...recorded.since.flatMap((one) => untilDay(one, recorded.day)), ...joined(of(is)));
}

function ofFreezes(replay: StreakReplay, { facts, firstDay, was, is }: Replayed): void {
  const { now, gains, rule } = facts;
  const { day } = startOf(facts, rule.frequency, firstDay);
  const unstored = gains.filter(({ no }) => no === undefined);
  const recorded = gains.filter((gain) => isGainSince(gain, day));
  const isExact = was.freezes === now.freezes && sameList(recorded.map(bare), was.gains.map(bare));
  replay.exact &&= isExact;
  if (!isExact) {
    const count = Math.max(-now.freezes, is.freezes - was.freezes);
    replay.freezes += count;
    replay.unstored.gains.push(...unstored);
    if (count !== 0) replay.gains.push({ kind: 'given', day: now.day, count });
    return;
  }
  replay.freezes = is.freezes;
  replay.earnedDay = is.earnedDay;
  if (sameList(was.gains.map(bare), is.gains.map(bare))) {
    replay.unstored.gains.push(...unstored);
    return;
  }
  replay.superseded.push(...recorded.flatMap(({ no }) => no ?? []));
  replay.gains.push(...is.gains);
  replay.unstored.gains.push(...unstored.filter((gain) => !recorded.includes(gain)));
}

/** What was earned when it was noted does not matter; what was given is distinguished by it. */
const bare = ({ kind, day, count, atMs }: Omit<RecordedGain, 'atMs'> & { atMs?: number }): object =>
  kind === 'given' ? { day, count, atMs } : { day, count };

const sameStreak = (one: RunningStreak, other: RunningStreak): boolean =>
  one.length === other.length &&
  (one.length === 0 || (one.startDay === other.startDay && one.lastPeriod === other.lastPeriod));

/** A streak in its new form; what the replay does not know, because nothing happened in it, stays. */
const replaced = (now: RunningStreak, after: RunningStreak): RunningStreak => ({
  ...after,
  extendedMs: after.extendedMs ?? now.extendedMs,
  ...((after.currentPeriod ?? -1) < (now.currentPeriod ?? -1) && {
    currentPeriod: now.currentPeriod,
    sums: now.sums,
  }),
});

/** A streak with the difference that a change makes. */
function moved(now: RunningStreak, before: RunningStreak, after: RunningStreak): RunningStreak {
  const sums = new Map(now.sums);
  if (after.currentPeriod === now.currentPeriod)
    for (const [metricNo, value] of after.sums)
      sums.set(metricNo, (sums.get(metricNo) ?? 0n) + value - (before.sums.get(metricNo) ?? 0n));
  const length = Math.max(0, now.length + after.length - before.length);
  if (length === now.length) return { ...now, sums };
  if (length === 0) return { ...now, length, startDay: null, sums };
  const startDay = Math.min(now.startDay ?? Infinity, after.startDay ?? Infinity);
  return {
    ...now,
    length,
    startDay: Number.isFinite(startDay) ? startDay : now.startDay,
    lastPeriod: later(now.lastPeriod, after.lastPeriod),
    extendedMs: later(now.extendedMs, after.extendedMs),
    sums,
  };
}

const later = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other);

const isSpan = ({ kind }: Settlement): boolean => kind === 'freeze' || kind === 'pause' || kind === 'off';

/** Of days that were excused, those from a day on. */
const cutOff = (one: RecordedSettlement, day: number): Settlement[] =>
  isSpan(one) && one.from < day ? [{ ...one, from: day }] : [one];

/** Of days that were excused, those before a day. */
const untilDay = (one: RecordedSettlement, day: number): Settlement[] =>
  isSpan(one) && one.from < day ? [{ ...one, to: day - 1 }] : [];

/** Adjoining days that the same excused are one. */
function joined(settlements: readonly Settlement[]): Settlement[] {
  const result: Settlement[] = [];
  for (const { frequency, kind, from, to, length, atMs } of settlements) {
    const last = result.at(-1);
    const one = { frequency, kind, from, to, length };
    if (last !== undefined && isSpan(last) && last.kind === kind && last.to === from - 1) last.to = to;
    // When the clock did it does not matter; when somebody did is a part of it.
    else result.push(isSpan(one) || kind === 'lost' || atMs === undefined ? one : { ...one, atMs });
  }
  return result;
}

const sameList = (one: readonly object[], other: readonly object[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
