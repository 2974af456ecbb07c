import { type Decimal, ZERO } from '../domain/decimal.ts';
import { FREQUENCIES, type Frequency, periodOf, periodStart, type WeekStart } from '../domain/periods.ts';
import { periodEndedOn, reachedLengths, resetPeriods, upToResets } from '../domain/streaks/reached-lengths.ts';
import type { FreezeGain, Settlement } from '../domain/streaks/settle.ts';
import type { StreakAsLeft } from '../domain/streaks/streak.ts';
import { StreakMachine, type StreakStep, type StreakSurroundings } from './streak-machine.ts';
import { minus, plus } from './sums.ts';
import type { Streak } from './user.ts';

/*
 * What a user's streaks would be if other events had happened: late events in their place, reversed events removed. Pure.
 * Callers need only `replayStreaks`; `src/engine/corrections/streak-facts.ts` reads the facts.
 *
 * The replay starts at the first period that changes, from the streak that the records show. It runs everything since then
 * twice, with the old events and with the new ones: events, midnights and administrators' calls in order of time. Today's
 * rules decide whether a period is met; each midnight uses the settings of its time.
 *
 * If the replay of the old events does not reproduce the records, the rules were different then or the history is
 * incomplete. In that case the records stay unchanged, only the difference in length and freezes is applied, and `exact` is
 * false.
 *
 * The replay knows only the calls that succeeded. It does not retry refused calls, and it skips a successful call that
 * would be refused now: a streak that was never lost is not restored.
 */

/** Events to add, and IDs of events to leave out. */
export interface ChangedEvents {
  add?: readonly StreakEvent[];
  remove?: ReadonlySet<string>;
}

/** The first local day (epoch day) for which facts are needed when the first change is on `day`. */
export const factsFrom = (day: number, weekStart: WeekStart): number =>
  Math.min(...FREQUENCIES.map((frequency) => periodStart(periodOf(day, frequency, weekStart), frequency, weekStart)));

/** Replays the user's streaks with events added and removed. Returns streaks, freezes and changes to the records. */
export function replayStreaks(facts: StreakFacts, { add = [], remove = new Set() }: ChangedEvents): StreakReplay {
  const changed = [...add, ...facts.events.filter(({ id }) => remove.has(id))];
  const firstDay = Math.min(facts.now.day, ...changed.map(({ day }) => day));
  const was = run(facts, firstDay, facts.events);
  const is = run(facts, firstDay, [...facts.events.filter(({ id }) => !remove.has(id)), ...add]);
  return changesOf({ facts, firstDay, was, is });
}

/**
 * Replays the user's streaks with late events that arrive one after the other: the nth replay has the first n of them. As `replayStreaks`
 * after each event was stored, except that each replay has all changes to the records, so that only the last one's are needed. Ends
 * after the first replay that is not exact: the next one depends on what that one changes.
 */
export function* replaysInTurn(facts: StreakFacts, late: readonly StreakEvent[]): Generator<StreakReplay> {
  const firstDay = Math.min(facts.now.day, ...late.map(({ day }) => day));
  const was = run(facts, firstDay, facts.events);
  let before = was;
  for (const [nth, { day }] of late.entries()) {
    const is = run(facts, firstDay, [...facts.events, ...late.slice(0, nth + 1)]);
    const replay = changesOf({ facts, firstDay, was, is });
    if (!replay.exact) {
      if (nth === 0) yield replayStreaks(facts, { add: late.slice(0, 1) });
      return;
    }
    yield { ...replay, reached: { was: before.reached, is: is.reached }, most: mostSince(facts, is, day) };
    before = is;
  }
}

function run(facts: StreakFacts, firstDay: number, events: readonly StreakEvent[]): StreakMachine {
  const { now, rule } = facts;
  const starts = FREQUENCIES.map((frequency) => startOf(facts, frequency, firstDay));
  const endedBefore = starts.flatMap(({ before }) => before);
  const begin = [...starts].sort((a, b) => a.day - b.day);
  const resetsMade = new Set(facts.settlements.filter(({ kind }) => kind === 'reset').map(({ atMs }) => atMs));
  const machine = new StreakMachine({ ...facts, endedBefore, resetsMade }, begin[0]!.day);
  const steps = stepsOf(facts, events).filter(({ day }) => day >= begin[0]!.day);
  let next = 0;
  for (const start of begin) {
    for (; next < steps.length && steps[next]!.day < start.day; next++) machine.take(steps[next]!);
    machine.begin(start.frequency, start.day, start.streak);
    if (start.frequency !== rule.frequency) continue;
    machine.freezes = start.freezes;
    machine.earnedDay = start.earnedDay;
    machine.gains = [];
  }
  for (const step of steps.slice(next)) machine.take(step);
  machine.settleTo(now.day);
  return machine;
}

const stepsOf = ({ calls }: StreakFacts, events: readonly StreakEvent[]): StreakStep[] =>
  [...calls, ...events.map((event) => ({ do: 'event' as const, ...event }))].sort(
    (a, b) => a.day - b.day || a.atMs - b.atMs,
  );

/** A streak at the beginning of a period, with the freezes of that time and the settlements before and after. */
interface ReplayStart {
  frequency: Frequency;
  /** First day (epoch day) of the period. */
  day: number;
  streak: StreakAsLeft;
  freezes: number;
  earnedDay: number | null;
  before: RecordedSettlement[];
  /** Settlements since, including those that extend across the beginning of the period. */
  since: RecordedSettlement[];
}

/** The recorded state of a frequency at the beginning of the period that contains `firstDay`. */
function startOf(facts: StreakFacts, frequency: Frequency, firstDay: number): ReplayStart {
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
const isGainSince = (gain: RecordedGain, day: number): boolean =>
  gain.kind === 'given' ? gain.day >= day : gain.day > day;

interface SettlementRepair {
  /** Numbers of the stored rows that no longer hold. */
  superseded: string[];
  /** The settlements that replace them, in order. Those without a time happen now. */
  settlements: Settlement[];
  gains: StreakMachine['gains'];
  unstored: { settlements: RecordedSettlement[]; gains: RecordedGain[] };
}

export interface StreakReplay extends SettlementRepair {
  streaks: Record<Frequency, Streak>;
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

function changesOf({ facts, firstDay, was, is }: Replayed): StreakReplay {
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
    most: mostSince(facts, is, firstDay),
  };
  for (const frequency of FREQUENCIES) ofFrequency(replay, frequency, { facts, firstDay, was, is });
  ofFreezes(replay, { facts, firstDay, was, is });
  return replay;
}

/** The greatest lengths that extensions reached since the period of each frequency that contains a day. */
function mostSince({ rule }: StreakFacts, { extensions }: StreakMachine, day: number): Record<Frequency, number> {
  const most = { daily: 0, weekly: 0, monthly: 0 };
  for (const frequency of FREQUENCIES) {
    const first = periodStart(periodOf(day, frequency, rule.weekStart), frequency, rule.weekStart);
    for (const { length } of extensions.filter((one) => one.frequency === frequency && one.day >= first))
      most[frequency] = Math.max(most[frequency], length);
  }
  return most;
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

const sameStreak = (one: Streak, other: Streak): boolean =>
  one.length === other.length &&
  (one.length === 0 || (one.startDay === other.startDay && one.lastPeriod === other.lastPeriod));

/** The streak after the replay. Fields stay unchanged if the replay saw no event and does not know them. */
const replaced = (now: Streak, after: Streak): Streak => ({
  ...after,
  extendedMs: after.extendedMs ?? now.extendedMs,
  ...((after.currentPeriod ?? -1) < (now.currentPeriod ?? -1) && { currentPeriod: now.currentPeriod, sums: now.sums }),
});

/** The current streak plus the difference between the two runs. */
function moved(now: Streak, before: Streak, after: Streak): Streak {
  const sums = new Map(now.sums);
  if (after.currentPeriod === now.currentPeriod)
    for (const [metricNo, value] of after.sums)
      sums.set(metricNo, minus(plus(sums.get(metricNo) ?? ZERO, value), before.sums.get(metricNo) ?? ZERO));
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

export interface StreakEvent {
  /** 32 hex digits. */
  id: string;
  /** When it happened (epoch ms): `occurredAt` for late events. */
  atMs: number;
  /** The local day to which it belongs (epoch day). */
  day: number;
  metricNo: number;
  value: Decimal;
}

/** Everything that determines a user's streaks, read at one moment. */
export interface StreakFacts extends Omit<StreakSurroundings, 'endedBefore' | 'resetsMade'> {
  /** The streaks, settled up to now. `day`: the user's current local day. */
  now: { day: number; streaks: Record<Frequency, Streak>; freezes: number; earnedDay: number | null };
  /** Settlements, oldest first: all that extend to `factsFrom` or later, and all that begin later. */
  settlements: readonly RecordedSettlement[];
  /** Freezes earned or given, oldest first. */
  gains: readonly RecordedGain[];
  /** Administrators' actions, even without effect, and changes of zone that moved the day forward. In any order. */
  calls: readonly Exclude<StreakStep, { do: 'event' }>[];
  /** Events on and after `factsFrom`, in any order. */
  events: readonly StreakEvent[];
}

export interface RecordedSettlement extends Settlement {
  /** Number of the stored row. */
  no?: string;
  atMs: number;
}

/** Freezes that the user earned, or that an administrator gave. */
export interface RecordedGain extends FreezeGain {
  kind: 'earned' | 'given';
  /** Number of the stored row. */
  no?: string;
  /** Epoch ms. */
  atMs: number;
}
