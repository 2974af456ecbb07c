import type { SignUp } from '../domain/anniversary.ts';
import type { Decimal } from '../domain/decimal.ts';
import type { HISTORY_SUM } from './call-fields.ts';
import { EVENT_RECORD, KIND, type RECORD } from './record-fields.ts';
import { firstAndOther, type Numbered, stateValues, unpackr } from './unpack-state.ts';
import {
  type DAYS_OFF,
  HOLD,
  METADATA,
  type PAUSE,
  type QUEST,
  type QUEST_PERIOD,
  SCORE,
  SCORE_SECONDARY,
  SCORE_TIME,
  TIMED_MEMBER,
  SIGN_UP,
  STAY,
  type STREAK,
  type STREAK_RULE,
  type THRESHOLD,
  TOTAL,
  USER,
} from './user-fields.ts';
import type { BoardPlace } from '../domain/notifications/notification.ts';

export interface Hold {
  systemNo: number;
  /** 32 hex digits. */
  id: string;
  amount: number;
  expiresMs: number;
}

/** Largest packed state in bytes. Changes that would exceed it are refused; see `lackOfRoom`. */
export const STATE_BYTES = 32_768;

/** Largest profile in bytes: name, email address, device tokens and attribute values together. */
export const PROFILE_BYTES = 24_576;

export const unpack = (packed: Buffer): unknown => recordOf(unpackr.unpack(packed));

/** Decodes a sequence of msgpack values. Records are converted by `recordOf`. */
export const unpackAll = (packed: Buffer): unknown[] =>
  packed.length === 0 ? [] : ((unpackr.unpackMultiple(packed) as unknown[] | undefined) ?? []).map(recordOf);

/** Decodes values and passes each with its bytes to `onValue`. Throws at the first invalid one. */
export function unpackEach(packed: Buffer, onValue: (value: unknown, bytes: Buffer) => void): void {
  if (packed.length === 0) return;
  unpackr.unpackMultiple(packed, (value: unknown, start = 0, end = packed.length) => {
    onValue(recordOf(value), packed.subarray(start, end));
  });
}

// Packed arrays are declared by position, so that code can access them only through the positions' names.

/** TOTAL. Thresholds of triggers are integers, so a peak has no micros. */
export interface PackedTotal {
  [TOTAL.whole]: number;
  [TOTAL.micros]: number;
  [TOTAL.peak]?: number;
}

/** STREAK; -1 means `null`. */
export interface PackedStreak {
  [STREAK.length]: number;
  [STREAK.startDay]: number;
  [STREAK.lastPeriod]: number;
  [STREAK.extendedMs]: number;
  [STREAK.currentPeriod]: number;
  [STREAK.sums]?: Numbered<PackedTotal>;
}

export interface PackedPause {
  [PAUSE.firstDay]: number;
  [PAUSE.lastDay]: number;
  [PAUSE.id]: string;
}

export interface PackedThreshold {
  [THRESHOLD.metric]: number;
  [THRESHOLD.whole]: number;
  [THRESHOLD.micros]: number;
}

/** STREAK_RULE: 0, 1 or -1 (`null`). */
interface PackedStreakRule {
  [STREAK_RULE.enabled]: number;
  [STREAK_RULE.all]: number;
  [STREAK_RULE.metrics]: PackedThreshold[];
}

/** DAYS_OFF; -1 means `null`. */
interface PackedDaysOff {
  [DAYS_OFF.set]: number;
  [DAYS_OFF.fromDay]: number;
  [DAYS_OFF.before]: number;
}

interface PackedSignUp {
  [SIGN_UP.day]: number;
  [SIGN_UP.years]: number;
  [SIGN_UP.sinceMs]: number;
}

export interface PackedQuestPeriod {
  [QUEST_PERIOD.period]: number;
  [QUEST_PERIOD.whole]: number;
  [QUEST_PERIOD.micros]: number;
  [QUEST_PERIOD.done]: number;
}

export interface PackedQuest {
  [QUEST.times]: number;
  [QUEST.periods]: PackedQuestPeriod[];
}

/** SCOREs in a row, by number of the leaderboard, newest run first. */
export type PackedScores = (number | string)[];

/** HOLDs in a row. */
export type PackedHolds = (number | string)[];
/** HISTORY_SUM. */
export interface HistorySum {
  [HISTORY_SUM.runDay]: number;
  [HISTORY_SUM.whole]: number;
  [HISTORY_SUM.micros]: number;
  [HISTORY_SUM.reached]?: number;
  [HISTORY_SUM.secondary]?: number;
}
/** STAYs in a row. */
export type PackedStays = (number | string)[];

export interface PackedMetadata {
  [METADATA.event]: string;
  [METADATA.json]: string;
  [METADATA.runs]: number[];
}

/** An unpacked state. Streaks are a list here and flat in the bytes. */
export interface PackedState {
  [USER.createdMs]: number;
  [USER.updatedMs]: number;
  [USER.activeDay]?: number;
  [USER.usedKeys]?: number;
  [USER.name]?: string;
  [USER.email]?: string;
  [USER.zone]?: string;
  [USER.offsetSeconds]?: number;
  [USER.offsetUntilMs]?: number;
  [USER.deviceTokens]?: string;
  [USER.unsubscribed]?: number;
  [USER.attributes]?: Numbered<string>;
  [USER.totals]?: Numbered<PackedTotal>;
  [USER.counts]?: Numbered<PackedTotal>;
  [USER.streaks]?: [daily: PackedStreak, weekly: PackedStreak, monthly: PackedStreak];
  [USER.freezes]?: number;
  [USER.earnedDay]?: number;
  [USER.settledMs]?: number;
  [USER.begunDay]?: number;
  [USER.pauses]?: PackedPause[];
  [USER.notifications]?: string;
  [USER.streakRule]?: PackedStreakRule;
  [USER.daysOff]?: PackedDaysOff;
  [USER.signUp]?: PackedSignUp;
  [USER.points]?: Numbered<number>;
  [USER.completions]?: Numbered<number>;
  [USER.paidMs]?: Numbered<number>;
  [USER.boards]?: PackedScores;
  [USER.owed]?: Numbered<number>;
  [USER.corrections]?: number;
  [USER.recomputed]?: number;
  [USER.heldUntilMs]?: number;
  [USER.hidden]?: number;
  [USER.generation]?: number;
  [USER.importedBy]?: string;
  [USER.importedMs]?: number;
  [USER.spent]?: Numbered<number>;
  [USER.holds]?: PackedHolds;
  [USER.scoreTimes]?: number[];
  [USER.secondaries]?: number[];
  [USER.quests]?: Numbered<PackedQuest>;
  [USER.teams]?: PackedStays;
  [USER.metadata]?: PackedMetadata[];
}

/** Unpacks a user's state, regardless of the version of Laurel that wrote it. Throws if it is invalid. */
export const unpackState = (packed: Buffer): PackedState => stateValues(packed) as unknown as PackedState;

export const decimalOf = (packed: PackedTotal): Decimal => ({
  whole: packed[TOTAL.whole],
  micros: packed[TOTAL.micros],
});

/** The sign-up date in a packed state; `null` if unknown. */
export function signUpOf({ [USER.signUp]: packed }: PackedState): SignUp | null {
  if (packed === undefined) return null;
  return { day: packed[SIGN_UP.day], years: packed[SIGN_UP.years], sinceMs: packed[SIGN_UP.sinceMs] };
}

interface UnpackedScore extends Decimal, BoardPlace {}

export function* scoresOf(packed: PackedScores): Generator<UnpackedScore> {
  for (let at = 0; at < packed.length; at += SCORE.size) {
    yield {
      boardNo: packed[at + SCORE.board] as number,
      runDay: packed[at + SCORE.runDay] as number,
      group: packed[at + SCORE.group] as string,
      whole: packed[at + SCORE.whole] as number,
      micros: packed[at + SCORE.micros] as number,
    };
  }
}

interface UnpackedStay extends Decimal {
  boardNo: number;
  runDay: number;
  team: string;
}

export function* staysOf(packed: PackedStays): Generator<UnpackedStay> {
  for (let at = 0; at < packed.length; at += STAY.size) {
    yield {
      boardNo: packed[at + STAY.board] as number,
      runDay: packed[at + STAY.runDay] as number,
      team: packed[at + STAY.team] as string,
      whole: packed[at + STAY.whole] as number,
      micros: packed[at + STAY.micros] as number,
    };
  }
}

/**
 * Whether a score is in a sorted set, if its user is not hidden: above the board's `floor` and, on a board with a breakdown
 * (`grouped`), not of a user who lacks a value of it.
 */
export const hasPlace = (
  { group, whole, micros }: UnpackedScore,
  { grouped, floor }: { grouped: boolean; floor: number },
): boolean => (floor !== 0 || (whole >= 0 && micros >= 0 && (whole > 0 || micros > 0))) && !(grouped && group === '');

/** When a user reached the score in a run of a board (epoch, microseconds); 0 if unknown. */
export function scoreTime(state: PackedState, boardNo: number, runDay: number): number {
  const times = state[USER.scoreTimes] ?? [];
  for (let at = 0; at < times.length; at += SCORE_TIME.size)
    if (times[at + SCORE_TIME.board] === boardNo && times[at + SCORE_TIME.runDay] === runDay)
      return Math.abs(times[at + SCORE_TIME.reached]!);
  return 0;
}

/** The rank number of a user's secondary score in a run of a board; 0 for none. */
export function scoreSecondary(state: PackedState, boardNo: number, runDay: number): number {
  const secondaries = state[USER.secondaries] ?? [];
  for (let at = 0; at < secondaries.length; at += SCORE_SECONDARY.size)
    if (secondaries[at + SCORE_SECONDARY.board] === boardNo && secondaries[at + SCORE_SECONDARY.runDay] === runDay)
      return secondaries[at + SCORE_SECONDARY.secondary]!;
  return 0;
}

/** The JSON that a user's entry in a run of a board shows; `null` for none. */
export function metadataIn(state: PackedState, boardNo: number, runDay: number): string | null {
  for (const sent of state[USER.metadata] ?? []) {
    const runs = sent[METADATA.runs];
    for (let at = 0; at < runs.length; at += 2)
      if (runs[at] === boardNo && runs[at + 1] === runDay) return sent[METADATA.json];
  }
  return null;
}

const TIE_DIGITS = 16;

/** What decides between equal scores on a board with `ties`: first the secondary score, then the time. */
export interface Tie {
  /** Microseconds. */
  reached: number;
  /** The rank number of the secondary score; `null` on boards without one. */
  secondary: number | null;
}

/**
 * The beginning of members of the sorted sets of a board with `ties`. Sorted sets order equal scores by member, so that the best
 * secondary score is the greatest, and then the earliest time.
 */
export function tiePrefix({ reached, secondary }: Tie): string {
  const time = String(TIMED_MEMBER.latest - Math.abs(reached)).padStart(TIE_DIGITS, '0');
  return secondary === null ? time : String(secondary).padStart(TIE_DIGITS, '0') + time;
}

/** A user's member in the sorted sets of a board with `ties`. */
export const timedMember = (userId: string, reached: number, secondary: number | null = null): string =>
  tiePrefix({ reached, secondary }) + userId;

/** The member in the sorted set of a run by a user's state. */
export const memberInState = (
  userId: string,
  state: PackedState,
  { boardNo, runDay, hasSecondary }: { boardNo: number; runDay: number; hasSecondary: boolean },
): string =>
  timedMember(userId, scoreTime(state, boardNo, runDay), hasSecondary ? scoreSecondary(state, boardNo, runDay) : null);

/** The user of a timed member, and what decides between equal scores. */
export function ofTimedMember(
  member: string,
  hasSecondary: boolean,
): { userId: string; reached: number; secondary?: number } {
  const at = hasSecondary ? TIE_DIGITS : 0;
  return {
    userId: member.slice(at + TIE_DIGITS),
    reached: TIMED_MEMBER.latest - Number(member.slice(at, at + TIE_DIGITS)),
    ...(hasSecondary && { secondary: Number(member.slice(0, TIE_DIGITS)) }),
  };
}

export function holdsOf(packed: PackedHolds): Hold[] {
  const holds: Hold[] = [];
  for (let at = 0; at < packed.length; at += HOLD.size) {
    holds.push({
      systemNo: packed[at + HOLD.system] as number,
      id: packed[at + HOLD.id] as string,
      amount: packed[at + HOLD.amount] as number,
      expiresMs: packed[at + HOLD.expiresMs] as number,
    });
  }
  return holds;
}

/** The name in a user's packed state, or null. Skips what comes before it. */
export const nameInState = (packed: Buffer): string | null =>
  (firstAndOther(packed, USER.name)[1] as string | null | undefined) ?? null;

/** Converts an event's packed list to a map by RECORD; returns other values unchanged. */
export function recordOf(value: unknown): unknown {
  if (!Array.isArray(value) || value[EVENT_RECORD.kind] !== KIND.event || value.length <= EVENT_RECORD.boards)
    return value;
  const list = value as unknown[];
  // Names are literals, checked by the type, and none is left out: V8 makes and reads objects of one known form several times faster.
  // Fields that an event lacks are `false` in the list.
  const record: Partial<Record<(typeof RECORD)[keyof typeof RECORD], unknown>> = {
    k: KIND.event,
    i: list[EVENT_RECORD.id],
    u: list[EVENT_RECORD.userId],
    at: list[EVENT_RECORD.atMs],
    d: list[EVENT_RECORD.day],
    m: list[EVENT_RECORD.metric],
    v: [list[EVENT_RECORD.whole], list[EVENT_RECORD.micros]],
    t: [list[EVENT_RECORD.totalWhole], list[EVENT_RECORD.totalMicros]],
    s: list[EVENT_RECORD.streak],
    b: list[EVENT_RECORD.boards],
    p: list[EVENT_RECORD.points] || undefined,
    cv: list[EVENT_RECORD.version] || undefined,
    x: list[EVENT_RECORD.attributes] || undefined,
    ik: list[EVENT_RECORD.idempotencyKey] || undefined,
  };
  return list[EVENT_RECORD.more] === undefined ? record : Object.assign(record, list[EVENT_RECORD.more]);
}
