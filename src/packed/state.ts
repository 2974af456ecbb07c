import type { Decimal } from '../domain/decimal.ts';
import { decimalText } from '../domain/decimal.ts';
import type { SignUp } from '../domain/anniversary.ts';
import type { OwnDaysOff } from '../domain/days-off.ts';
import { numbered, type Numbered } from './numbered.ts';
import { stateValues } from './unpack-state.ts';
import { recordOf } from './event-record.ts';
import { unpackr } from './unpackr.ts';
import { DAYS_OFF, PAUSE, SCORE, SIGN_UP, STREAK, STREAK_RULE, THRESHOLD, TOTAL, USER } from './user-fields.ts';

/**
 * The state of a user: msgpack values one after another under one key, written by `lua/record_events.lua` (see
 * `lua/lib/users.lua` for a new user's fields, `user-fields.ts` for all). `users.state` in Postgres holds the same bytes. Here are its
 * readable form and the decoding.
 */
export interface UserState {
  createdMs: number;
  updatedMs: number;
  name: string | null;
  email: string | null;
  /** IANA name; null: UTC. */
  tz: string | null;
  /** The zone's offset from UTC, seconds, as the user's last change knew it. */
  offsetSeconds: number;
  deviceTokens: string[] | null;
  subscribed: boolean;
  /** Attribute number → value. */
  attributes: Record<number, string>;
  /** Metric number → total, as decimal text. */
  totals: Record<number, string>;
  /** Metric number → whole part of the highest total, only where it is above the total. */
  peaks: Record<number, string>;
  /** Achievement or trigger number → total of the matching events, for those with event-attribute conditions. */
  counts: Record<number, string>;
  countPeaks: Record<number, string>;
  streaks: { daily: StreakState; weekly: StreakState; monthly: StreakState };
  freezes: number;
  /** The local day (epoch day) from which the next interval of earning freezes counts; null: not known yet. */
  earnedDay: number | null;
  /** The midnights up to then (epoch ms) are settled, by previous settings; those up to the last event are, too. */
  settledMs: number | null;
  /** The user's pauses that still count, by first day. */
  pauses: Pause[];
  /** What the user set: a digit a kind of notification, '-' where nothing is set; null: nothing at all. */
  notifications: string | null;
  /** The user's own rule of the streak; null in its fields: as for everyone. */
  streakRule: StreakRule | null;
  /** The user's own days off; null: as for everyone. */
  daysOff: OwnDaysOff | null;
  /** Who hides the user from leaderboards: a sum of HIDDEN_BY, 0 for nobody. */
  hidden: number;
  /** When the user signed up; null: not known. */
  signUp: SignUp | null;
  /** Points system number → total. */
  points: Record<number, number>;
  /** Achievement number → epoch ms of completion. */
  completions: Record<number, number>;
  /** Number of a `time` trigger → end of the last period that it paid, epoch ms. */
  timePaid: Record<number, number>;
  /** Board number → scores in the runs that are not final yet, newest first. */
  boards: Record<number, BoardScore[]>;
  /** Name of the import that brought the user; null: none did. */
  importedBy: string | null;
  /** When, epoch ms; null: never. */
  importedMs: number | null;
}

export interface StreakState {
  length: number;
  /** Local day (epoch day) on which the first period began; null at length 0. */
  startDay: number | null;
  /** Index of the last period that was met, or excused by a freeze or pause; null: never. */
  lastPeriod: number | null;
  /** Epoch ms of the event that met it. */
  extendedMs: number | null;
  /** The period that `sums` belong to. */
  currentPeriod: number | null;
  /** Metric number → sum of values in the current period. */
  sums: Record<number, string>;
}

export interface Pause {
  /** First and last local day (epoch days). */
  from: number;
  to: number;
  /** 32 hex digits of a UUID. */
  id: string;
}

export interface StreakRule {
  enabled: boolean | null;
  /** True: every metric must reach its threshold; false: one. */
  all: boolean | null;
  /** Empty: as for everyone. */
  metrics: { no: number; threshold: string }[];
}

export interface BoardScore {
  runDay: number;
  group: string;
  score: string;
}

/** The most bytes of a packed state: what would grow beyond is refused, see `lua/lib/users.lua`. */
export const STATE_BYTES = 32_768;

/** The most bytes that requests may say of a user: name, e-mail address, device tokens and values of attributes together. */
export const PROFILE_BYTES = 24_576;

/** Decodes one msgpack value, as `recordOf` gives it. */
export const unpack = (packed: Buffer): unknown => recordOf(unpackr.unpack(packed));

/** Decodes msgpack values that follow one another, each as `recordOf` gives it. */
export const unpackAll = (packed: Buffer): unknown[] =>
  packed.length === 0 ? [] : ((unpackr.unpackMultiple(packed) as unknown[] | undefined) ?? []).map(recordOf);

/**
 * Decodes msgpack values that follow one another, and hands on each, as `recordOf` gives it, with its bytes. Throws where the rest is none: what
 * precedes it is handed on.
 */
export function unpackEach(packed: Buffer, onValue: (value: unknown, bytes: Buffer) => void): void {
  if (packed.length === 0) return;
  unpackr.unpackMultiple(packed, (value: unknown, start = 0, end = packed.length) => {
    onValue(recordOf(value), packed.subarray(start, end));
  });
}

// What is packed as an array is declared by its positions: so nothing can take it apart without their names.

/** TOTAL; thresholds of triggers are integers, so a peak has no micros. */
export interface PackedTotal {
  [TOTAL.whole]: number;
  [TOTAL.micros]: number;
  [TOTAL.peak]?: number;
}

/** STREAK; -1 is null. */
export interface PackedStreak {
  [STREAK.length]: number;
  [STREAK.startDay]: number;
  [STREAK.lastPeriod]: number;
  [STREAK.extendedMs]: number;
  [STREAK.currentPeriod]: number;
  [STREAK.sums]?: Numbered<PackedTotal>;
}

/** PAUSE. */
export interface PackedPause {
  [PAUSE.firstDay]: number;
  [PAUSE.lastDay]: number;
  [PAUSE.id]: string;
}

/** THRESHOLD. */
export interface PackedThreshold {
  [THRESHOLD.metric]: number;
  [THRESHOLD.whole]: number;
  [THRESHOLD.micros]: number;
}

/** STREAK_RULE: 0 or 1, -1 is null. */
interface PackedStreakRule {
  [STREAK_RULE.enabled]: number;
  [STREAK_RULE.all]: number;
  [STREAK_RULE.metrics]: PackedThreshold[];
}

/** DAYS_OFF; -1 is null. */
interface PackedDaysOff {
  [DAYS_OFF.set]: number;
  [DAYS_OFF.fromDay]: number;
  [DAYS_OFF.before]: number;
}

/** SIGN_UP. */
interface PackedSignUp {
  [SIGN_UP.day]: number;
  [SIGN_UP.years]: number;
  [SIGN_UP.sinceMs]: number;
}

/** SCORE, repeated: by number of the board, newest run first. */
export type PackedScores = (number | string)[];

/** A packed state, taken apart: absent fields are nil in Lua. Its streaks are a list here, and flat in the bytes. */
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
  [USER.timePaid]?: Numbered<number>;
  [USER.boards]?: PackedScores;
  [USER.owed]?: Numbered<number>;
  [USER.corrections]?: number;
  [USER.recomputed]?: number;
  [USER.hidden]?: number;
  [USER.generation]?: number;
  [USER.importedBy]?: string;
  [USER.importedMs]?: number;
}

/** Takes a user's packed state apart, whichever version of Laurel wrote it. Throws where it is none. */
export const unpackState = (packed: Buffer): PackedState => stateValues(packed) as unknown as PackedState;

/** The decimal of a packed sum. */
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

/** When the user of a packed state signed up; null: not known. */
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

const ownDaysOff = (packed: PackedDaysOff): OwnDaysOff => ({
  set: packed[DAYS_OFF.set],
  fromDay: packed[DAYS_OFF.fromDay],
  before: orNull(packed[DAYS_OFF.before]),
});

/** A score in a run of a board. */
export interface UnpackedScore extends Decimal {
  boardNo: number;
  runDay: number;
  group: string;
}

/** The scores of a packed list. */
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

function boardScores(packed: PackedScores): Record<number, BoardScore[]> {
  const boards: Record<number, BoardScore[]> = {};
  for (const { boardNo, runDay, group, ...score } of scoresOf(packed))
    (boards[boardNo] ??= []).push({ runDay, group, score: decimalText(score) });
  return boards;
}

/**
 * The name in a user's packed state; null: there is none. It decodes the whole, which takes 2 µs of CPU for an ordinary
 * state of 400 bytes, 20 µs for one of 6 KB.
 */
export const nameInState = (packed: Buffer): string | null => unpackState(packed)[USER.name] ?? null;

/** Decodes a user's packed state. */
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
    timePaid: mapNumbered(state[USER.timePaid], (at) => at),
    boards: boardScores(state[USER.boards] ?? []),
    importedBy: state[USER.importedBy] ?? null,
    importedMs: state[USER.importedMs] ?? null,
  };
}
