import type { Frequency } from './periods.ts';
import { isGainSince, startOf } from './replay-start.ts';
import { FREQUENCIES, type Settlement } from './settle-streaks.ts';
import type { RecordedGain, RecordedSettlement, StreakFacts } from './streak-facts.ts';
import type { RunningStreak, StreakMachine } from './streak-machine.ts';

/** Changes to the records. Nothing is deleted: new rows supersede those that no longer hold. */
export interface SettlementRepair {
  /** Numbers of the stored rows that no longer hold. */
  superseded: string[];
  /**
   * The settlements that replace them, in order. Those with a time happened then, the others now. Settlements that are not stored
   * yet and still hold are in `unstored`.
   */
  settlements: Settlement[];
  gains: StreakMachine['gains'];
  unstored: { settlements: RecordedSettlement[]; gains: RecordedGain[] };
}

/** The outcome of a replay: the streaks and the changes to the records. */
export interface StreakReplay extends SettlementRepair {
  streaks: Record<Frequency, RunningStreak>;
  freezes: number;
  earnedDay: number | null;
  /** Whether replaying the old events reproduced the records. */
  exact: boolean;
  /** Lengths that extensions of the counting streak reached, with the old events and with the new ones. */
  reached: { was: readonly number[]; is: readonly number[] };
  /** Greatest lengths since the first change. */
  most: Readonly<Record<Frequency, number>>;
}

interface Replayed {
  facts: StreakFacts;
  firstDay: number;
  was: StreakMachine;
  is: StreakMachine;
}

/** Compares the two runs; see `replayStreaks`. */
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
  // Settlements that extend across the beginning of the replay stay valid up to it.
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

/** For comparison: the time is part of a gift, but irrelevant for earned freezes. */
const bare = ({ kind, day, count, atMs }: Omit<RecordedGain, 'atMs'> & { atMs?: number }): object =>
  kind === 'given' ? { day, count, atMs } : { day, count };

const sameStreak = (one: RunningStreak, other: RunningStreak): boolean =>
  one.length === other.length &&
  (one.length === 0 || (one.startDay === other.startDay && one.lastPeriod === other.lastPeriod));

/** The streak after the replay. Fields stay unchanged if the replay saw no event and does not know them. */
const replaced = (now: RunningStreak, after: RunningStreak): RunningStreak => ({
  ...after,
  extendedMs: after.extendedMs ?? now.extendedMs,
  ...((after.currentPeriod ?? -1) < (now.currentPeriod ?? -1) && {
    currentPeriod: now.currentPeriod,
    sums: now.sums,
  }),
});

/** The current streak plus the difference between the two runs. */
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

/** Restricts excused days to those from `day` on. */
const cutOff = (one: RecordedSettlement, day: number): Settlement[] =>
  isSpan(one) && one.from < day ? [{ ...one, from: day }] : [one];

/** Restricts excused days to those before `day`. */
const untilDay = (one: RecordedSettlement, day: number): Settlement[] =>
  isSpan(one) && one.from < day ? [{ ...one, to: day - 1 }] : [];

/** Merges adjacent days with the same excuse. */
function joined(settlements: readonly Settlement[]): Settlement[] {
  const result: Settlement[] = [];
  for (const { frequency, kind, from, to, length, atMs } of settlements) {
    const last = result.at(-1);
    const one = { frequency, kind, from, to, length };
    if (last !== undefined && isSpan(last) && last.kind === kind && last.to === from - 1) last.to = to;
    // The time is irrelevant for what the clock did, and part of what an administrator did.
    else result.push(isSpan(one) || kind === 'lost' || atMs === undefined ? one : { ...one, atMs });
  }
  return result;
}

const sameList = (one: readonly object[], other: readonly object[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
