import type { SignUp } from '../domain/anniversary.ts';
import { type Decimal, decimalText } from '../domain/decimal.ts';
import type { OwnDaysOff } from '../domain/periods.ts';
import type { HISTORY_SUM } from './call-fields.ts';
import { EVENT_RECORD, KIND, kindField, RECORD } from './record-fields.ts';
import { numbered, type Numbered, stateValues, unpackr } from './unpack-state.ts';
import {
  DAYS_OFF,
  HOLD,
  PAUSE,
  QUEST,
  QUEST_PERIOD,
  SCORE,
  SCORE_TIME,
  TIMED_MEMBER,
  SIGN_UP,
  STAY,
  STREAK,
  STREAK_RULE,
  THRESHOLD,
  TOTAL,
  USER,
} from './user-fields.ts';

/**
 * The readable form of a user's state. The packed form is a sequence of msgpack values in one Redis key, written by
 * `src/rules/user-codec.ts`; `users.state` in Postgres holds the same bytes. `user-fields.ts` lists all fields.
 */
export interface UserState {
  createdMs: number;
  updatedMs: number;
  name: string | null;
  email: string | null;
  /** IANA name; `null` for UTC. */
  tz: string | null;
  /** The zone's offset from UTC in seconds, as of the user's last change. */
  offsetSeconds: number;
  deviceTokens: string[] | null;
  subscribed: boolean;
  /** Attribute number → value. */
  attributes: Record<number, string>;
  /** Metric number → total, as decimal text. */
  totals: Record<number, string>;
  /** Metric number → whole part of the highest total; only if it exceeds the total. */
  peaks: Record<number, string>;
  /** Achievement or trigger number → total of matching events, for those with conditions on event attributes. */
  counts: Record<number, string>;
  countPeaks: Record<number, string>;
  streaks: { daily: StreakState; weekly: StreakState; monthly: StreakState };
  freezes: number;
  /** The local day (epoch day) from which the next earning interval counts; `null` if not known yet. */
  earnedDay: number | null;
  /** Midnights up to this time (epoch ms) are settled, under earlier settings, as are those up to the last event. */
  settledMs: number | null;
  pauses: Pause[];
  /** One digit per kind of notification, `-` if not set; `null` if the user set none. */
  notifications: string | null;
  /** The user's own streak rule. Fields that are `null` follow the tenant's settings. */
  streakRule: StreakRule | null;
  daysOff: OwnDaysOff | null;
  /** Who hides the user from leaderboards: a sum of HIDDEN_BY, 0 for nobody. */
  hidden: number;
  signUp: SignUp | null;
  /** Points system number → total. */
  points: Record<number, number>;
  /** Achievement number → epoch ms of completion. */
  completions: Record<number, number>;
  /** Number of a repeating achievement → completions, and the sums of the latest periods. */
  quests: Record<number, Quest>;
  /** Number of what pays only once for a time (a `time` trigger for a period) → the latest time that was paid, epoch ms. */
  paidMs: Record<number, number>;
  /** Leaderboard number → scores in runs that are not final, newest first. */
  boards: Record<number, BoardScore[]>;
  /** Points system number → points spent and not refunded, or expired; without open holds. */
  spent: Record<number, number>;
  /** Holds that were neither captured nor released, oldest first. They may have expired. */
  holds: Hold[];
  /** Name of the import that brought the user, or `null`. */
  importedBy: string | null;
  importedMs: number | null;
}

export interface StreakState {
  length: number;
  /** Local day (epoch day) on which the first period began; null at length 0. */
  startDay: number | null;
  /** Index of the last period that was met or excused; `null` if there never was one. */
  lastPeriod: number | null;
  /** Epoch ms of the event that met it. */
  extendedMs: number | null;
  /** The period that `sums` belong to. */
  currentPeriod: number | null;
  /** Metric number → sum of values in the current period. */
  sums: Record<number, string>;
}

export interface Quest {
  times: number;
  /** Newest first; `value`: decimal text. */
  periods: { period: number; value: string; done: boolean }[];
}

interface Pause {
  /** First and last local day (epoch days). */
  from: number;
  to: number;
  /** 32 hex digits of a UUID. */
  id: string;
}

export interface Hold {
  systemNo: number;
  /** 32 hex digits. */
  id: string;
  amount: number;
  expiresMs: number;
}

interface StreakRule {
  enabled: boolean | null;
  /** Whether every metric must reach its threshold, or only one. */
  all: boolean | null;
  /** If empty, the tenant's metrics apply. */
  metrics: { no: number; threshold: string }[];
}

interface BoardScore {
  runDay: number;
  group: string;
  /** The best is the highest: on a board in ascending order, it is the negated value (`turned`). */
  score: string;
  /** When it was reached (epoch, microseconds), on boards that need to know. */
  reached?: number;
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
}
/** STAYs in a row. */
export type PackedStays = (number | string)[];

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
  [USER.hidden]?: number;
  [USER.generation]?: number;
  [USER.importedBy]?: string;
  [USER.importedMs]?: number;
  [USER.spent]?: Numbered<number>;
  [USER.holds]?: PackedHolds;
  [USER.scoreTimes]?: number[];
  [USER.quests]?: Numbered<PackedQuest>;
  [USER.teams]?: PackedStays;
}

/** Unpacks a user's state, regardless of the version of Laurel that wrote it. Throws if it is invalid. */
export const unpackState = (packed: Buffer): PackedState => stateValues(packed) as unknown as PackedState;

export const decimalOf = (packed: PackedTotal): Decimal => ({
  whole: packed[TOTAL.whole],
  micros: packed[TOTAL.micros],
});

function mapNumbered<T, R>(table: Numbered<T> | undefined, convert: (value: T) => R | undefined): Record<number, R> {
  const result: Record<number, R> = {};
  for (const [no, value] of numbered(table)) {
    const converted = convert(value);
    if (converted !== undefined) result[no] = converted;
  }
  return result;
}

const totalText = (total: PackedTotal): string => decimalText(decimalOf(total));
const peakText = (total: PackedTotal): string | undefined => total[TOTAL.peak]?.toString();

const orNull = (value: number | undefined): number | null => (value === undefined || value === -1 ? null : value);

function streak(packed: PackedStreak | undefined): StreakState {
  return {
    length: packed?.[STREAK.length] ?? 0,
    startDay: orNull(packed?.[STREAK.startDay]),
    lastPeriod: orNull(packed?.[STREAK.lastPeriod]),
    extendedMs: orNull(packed?.[STREAK.extendedMs]),
    currentPeriod: orNull(packed?.[STREAK.currentPeriod]),
    sums: mapNumbered(packed?.[STREAK.sums], totalText),
  };
}

/** The sign-up date in a packed state; `null` if unknown. */
export function signUpOf({ [USER.signUp]: packed }: PackedState): SignUp | null {
  if (packed === undefined) return null;
  return { day: packed[SIGN_UP.day], years: packed[SIGN_UP.years], sinceMs: packed[SIGN_UP.sinceMs] };
}

function streakRule(packed: PackedStreakRule): StreakRule {
  const flag = (value: number): boolean | null => (value === -1 ? null : value === 1);
  return {
    enabled: flag(packed[STREAK_RULE.enabled]),
    all: flag(packed[STREAK_RULE.all]),
    metrics: packed[STREAK_RULE.metrics].map((threshold) => ({
      no: threshold[THRESHOLD.metric],
      threshold: decimalText({ whole: threshold[THRESHOLD.whole], micros: threshold[THRESHOLD.micros] }),
    })),
  };
}

const quest = (packed: PackedQuest): Quest => ({
  times: packed[QUEST.times],
  periods: packed[QUEST.periods].map((each) => ({
    period: each[QUEST_PERIOD.period],
    value: decimalText({ whole: each[QUEST_PERIOD.whole], micros: each[QUEST_PERIOD.micros] }),
    done: each[QUEST_PERIOD.done] === 1,
  })),
});

const ownDaysOff = (packed: PackedDaysOff): OwnDaysOff => ({
  set: packed[DAYS_OFF.set],
  fromDay: packed[DAYS_OFF.fromDay],
  before: orNull(packed[DAYS_OFF.before]),
});

interface UnpackedScore extends Decimal {
  boardNo: number;
  runDay: number;
  group: string;
}

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

const TIME_DIGITS = 16;

/**
 * A user's member in the sorted sets of a board on which equal scores rank by when they were reached. Sorted sets order
 * equal scores by member: the earliest is the greatest.
 */
export const timedMember = (userId: string, reached: number): string =>
  String(TIMED_MEMBER.latest - Math.abs(reached)).padStart(TIME_DIGITS, '0') + userId;

/** The user of a timed member, and when the score was reached. */
export const ofTimedMember = (member: string): { userId: string; reached: number } => ({
  userId: member.slice(TIME_DIGITS),
  reached: TIMED_MEMBER.latest - Number(member.slice(0, TIME_DIGITS)),
});

function boardScores(packed: PackedScores, times: readonly number[]): Record<number, BoardScore[]> {
  const reached = new Map<string, number>();
  for (let at = 0; at < times.length; at += SCORE_TIME.size)
    reached.set(`${times[at + SCORE_TIME.board]} ${times[at + SCORE_TIME.runDay]}`, times[at + SCORE_TIME.reached]!);
  const boards: Record<number, BoardScore[]> = {};
  for (const { boardNo, runDay, group, ...score } of scoresOf(packed)) {
    const at = reached.get(`${boardNo} ${runDay}`);
    const scored = { runDay, group, score: decimalText(score), ...(at !== undefined && { reached: at }) };
    (boards[boardNo] ??= []).push(scored);
  }
  return boards;
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

/** The name in a user's packed state, or null. Decodes the whole state: 2 µs of CPU for 400 bytes, 20 µs for 6 KB. */
export const nameInState = (packed: Buffer): string | null => unpackState(packed)[USER.name] ?? null;

export function decodeState(packed: Buffer): UserState {
  const state = unpackState(packed);
  const [daily, weekly, monthly] = state[USER.streaks] ?? [];
  const { [USER.deviceTokens]: deviceTokens, [USER.streakRule]: rule, [USER.daysOff]: daysOff } = state;
  return {
    createdMs: state[USER.createdMs],
    updatedMs: state[USER.updatedMs],
    name: state[USER.name] ?? null,
    email: state[USER.email] ?? null,
    tz: state[USER.zone] ?? null,
    offsetSeconds: state[USER.offsetSeconds] ?? 0,
    deviceTokens: deviceTokens === undefined ? null : (JSON.parse(deviceTokens) as string[]),
    subscribed: state[USER.unsubscribed] === undefined,
    attributes: mapNumbered(state[USER.attributes], (value) => value),
    totals: mapNumbered(state[USER.totals], totalText),
    peaks: mapNumbered(state[USER.totals], peakText),
    counts: mapNumbered(state[USER.counts], totalText),
    countPeaks: mapNumbered(state[USER.counts], peakText),
    streaks: { daily: streak(daily), weekly: streak(weekly), monthly: streak(monthly) },
    freezes: state[USER.freezes] ?? 0,
    earnedDay: state[USER.earnedDay] ?? null,
    settledMs: state[USER.settledMs] ?? null,
    pauses: (state[USER.pauses] ?? []).map((pause) => ({
      from: pause[PAUSE.firstDay],
      to: pause[PAUSE.lastDay],
      id: pause[PAUSE.id],
    })),
    notifications: state[USER.notifications] ?? null,
    streakRule: rule === undefined ? null : streakRule(rule),
    hidden: state[USER.hidden] ?? 0,
    signUp: signUpOf(state),
    daysOff: daysOff === undefined ? null : ownDaysOff(daysOff),
    points: mapNumbered(state[USER.points], (total) => total),
    completions: mapNumbered(state[USER.completions], (at) => at),
    quests: mapNumbered(state[USER.quests], quest),
    paidMs: mapNumbered(state[USER.paidMs], (at) => at),
    spent: mapNumbered(state[USER.spent], (amount) => amount),
    holds: holdsOf(state[USER.holds] ?? []),
    boards: boardScores(state[USER.boards] ?? [], state[USER.scoreTimes] ?? []),
    importedBy: state[USER.importedBy] ?? null,
    importedMs: state[USER.importedMs] ?? null,
  };
}

/** Converts an event's packed list to a map by RECORD; returns other values unchanged. */
export function recordOf(value: unknown): unknown {
  if (!Array.isArray(value) || value[EVENT_RECORD.kind] !== KIND.event || value.length <= EVENT_RECORD.boards)
    return value;
  const list = value as unknown[];
  const record: Record<string, unknown> = {
    [kindField]: KIND.event,
    [RECORD.id]: list[EVENT_RECORD.id],
    [RECORD.userId]: list[EVENT_RECORD.userId],
    [RECORD.atMs]: list[EVENT_RECORD.atMs],
    [RECORD.day]: list[EVENT_RECORD.day],
    [RECORD.metric]: list[EVENT_RECORD.metric],
    [RECORD.value]: [list[EVENT_RECORD.whole], list[EVENT_RECORD.micros]],
    [RECORD.total]: [list[EVENT_RECORD.totalWhole], list[EVENT_RECORD.totalMicros]],
    [RECORD.streak]: list[EVENT_RECORD.streak],
    [RECORD.boards]: list[EVENT_RECORD.boards],
  };
  // Fields that an event lacks are `false`.
  if (list[EVENT_RECORD.points]) record[RECORD.points] = list[EVENT_RECORD.points];
  if (list[EVENT_RECORD.version]) record[RECORD.version] = list[EVENT_RECORD.version];
  if (list[EVENT_RECORD.attributes]) record[RECORD.attributes] = list[EVENT_RECORD.attributes];
  if (list[EVENT_RECORD.idempotencyKey]) record[RECORD.idempotencyKey] = list[EVENT_RECORD.idempotencyKey];
  return list[EVENT_RECORD.more] === undefined ? record : Object.assign(record, list[EVENT_RECORD.more]);
}
