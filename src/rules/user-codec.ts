import { Packr, Unpackr } from 'msgpackr';
import type { Decimal } from '../domain/decimal.ts';
import {
  HOLD,
  METADATA,
  SCORE,
  SCORE_SECONDARY,
  SCORE_TIME,
  STATE_SIZE,
  STAY,
  STREAK,
  USED_KEYS,
  USER,
} from '../packed/user-fields.ts';
import type {
  GuardSums,
  Hold,
  OwnStreakRule,
  Pause,
  QuestProgress,
  Score,
  ScoreTime,
  SentMetadata,
  Stay,
  Streak,
  Total,
  User,
} from './user.ts';

/*
 * The stored form of a user: MessagePack values in a row, in the order of `USER`, in one Redis key and in `users.state` of
 * Postgres. Missing fields are nil; those after the last existing one take no space. Stored positions never change.
 */

const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: false, int64AsType: 'number' });
const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true });

type Values = unknown[];

/** Decodes a user, regardless of the version of Laurel that wrote it. Throws a `TypeError` if the bytes are not one. */
export function decodeUser(packed: Buffer): User {
  try {
    return userOf((packed.length === 0 ? [] : unpackr.unpackMultiple(packed)) as Values);
  } catch (error) {
    throw new TypeError('not a packed user state', { cause: error });
  }
}

function userOf(values: Values): User {
  if (values.length <= USER.streaks + 2 * STREAK.size + STREAK.currentPeriod)
    throw new TypeError(`${values.length} values`);
  for (let at = 0; at < values.length; at += 1) if (values[at] === null) values[at] = undefined;
  const usedKeys = values[USER.usedKeys] as number | undefined;
  const daysOff = values[USER.daysOff] as [number, number, number] | undefined;
  const signUp = values[USER.signUp] as [number, number, number] | undefined;
  const streakRule = values[USER.streakRule] as PackedRule | undefined;
  const activeDay = values[USER.activeDay] as number;
  return {
    createdMs: values[USER.createdMs] as number,
    updatedMs: values[USER.updatedMs] as number,
    activeDay: activeDay === -1 ? null : activeDay,
    usedKeys:
      usedKeys === undefined ? null : { day: Math.floor(usedKeys / USED_KEYS.day), count: usedKeys % USED_KEYS.day },
    totals: mapOf(values[USER.totals], totalOf),
    counts: mapOf(values[USER.counts], totalOf),
    points: mapOf(values[USER.points], same<number>),
    completions: mapOf(values[USER.completions], same<number>),
    scores: rowsOf(values[USER.boards], SCORE.size, scoreOf),
    streaks: {
      daily: streakAt(values, USER.streaks),
      weekly: streakAt(values, USER.streaks + STREAK.size),
      monthly: streakAt(values, USER.streaks + 2 * STREAK.size),
    },
    freezes: (values[USER.freezes] as number | undefined) ?? 0,
    earnedDay: optional(values[USER.earnedDay]),
    pauses: listOf(values[USER.pauses], pauseOf),
    streakRule: streakRule === undefined ? null : ruleOf(streakRule),
    daysOff:
      daysOff === undefined
        ? null
        : { set: daysOff[0], fromDay: daysOff[1], before: daysOff[2] === -1 ? null : daysOff[2] },
    settledMs: optional(values[USER.settledMs]),
    begunDay: optional(values[USER.begunDay]),
    name: optional(values[USER.name]),
    email: optional(values[USER.email]),
    unsubscribed: values[USER.unsubscribed] === 1,
    deviceTokens: optional(values[USER.deviceTokens]),
    attributes: mapOf(values[USER.attributes], same<string>),
    zone: optional(values[USER.zone]),
    offsetSeconds: optional(values[USER.offsetSeconds]),
    offsetUntilMs: optional(values[USER.offsetUntilMs]),
    signUp: signUp === undefined ? null : { day: signUp[0], years: signUp[1], sinceMs: signUp[2] },
    notifications: optional(values[USER.notifications]),
    hidden: (values[USER.hidden] as number | undefined) ?? 0,
    quests: mapOf(values[USER.quests], questOf),
    paidMs: mapOf(values[USER.paidMs], same<number>),
    spent: mapOf(values[USER.spent], same<number>),
    holds: rowsOf(values[USER.holds], HOLD.size, holdOf),
    owed: mapOf(values[USER.owed], same<number>),
    scoreTimes: scoreTimesOf(values),
    stays: rowsOf(values[USER.teams], STAY.size, stayOf),
    metadata: listOf(values[USER.metadata], metadataOf),
    guarded: mapOf(values[USER.guarded], guardSumsOf),
    generation: optional(values[USER.generation]),
    corrections: (values[USER.corrections] as number | undefined) ?? 0,
    recomputed: optional(values[USER.recomputed]),
    importedBy: optional(values[USER.importedBy]),
    importedMs: optional(values[USER.importedMs]),
    heldUntilMs: optional(values[USER.heldUntilMs]),
    unknown: values.length > STATE_SIZE ? values.slice(STATE_SIZE) : NO_VALUES,
  };
}

/** Encodes a user. */
export function encodeUser(user: User): Buffer {
  const values: Values = NO_FIELDS.slice();
  values[USER.createdMs] = user.createdMs;
  values[USER.updatedMs] = user.updatedMs;
  values[USER.activeDay] = user.activeDay ?? -1;
  if (user.usedKeys !== null) values[USER.usedKeys] = user.usedKeys.day * USED_KEYS.day + user.usedKeys.count;
  values[USER.totals] = packedMap(user.totals, packedTotal);
  values[USER.counts] = packedMap(user.counts, packedTotal);
  values[USER.points] = user.points;
  values[USER.completions] = user.completions;
  values[USER.boards] = packedScores(user.scores);
  putStreak(values, USER.streaks, user.streaks.daily);
  putStreak(values, USER.streaks + STREAK.size, user.streaks.weekly);
  putStreak(values, USER.streaks + 2 * STREAK.size, user.streaks.monthly);
  if (user.freezes > 0) values[USER.freezes] = user.freezes;
  if (user.pauses.length > 0) values[USER.pauses] = user.pauses.map(({ from, to, id }) => [from, to, id]);
  if (user.streakRule !== null) values[USER.streakRule] = packedRule(user.streakRule);
  if (user.daysOff !== null) values[USER.daysOff] = [user.daysOff.set, user.daysOff.fromDay, user.daysOff.before ?? -1];
  if (user.unsubscribed) values[USER.unsubscribed] = 1;
  if (user.attributes.size > 0) values[USER.attributes] = user.attributes;
  if (user.signUp !== null) values[USER.signUp] = [user.signUp.day, user.signUp.years, user.signUp.sinceMs];
  if (user.hidden > 0) values[USER.hidden] = user.hidden;
  if (user.quests.size > 0) values[USER.quests] = packedMap(user.quests, packedQuest);
  if (user.paidMs.size > 0) values[USER.paidMs] = user.paidMs;
  if (user.spent.size > 0) values[USER.spent] = user.spent;
  if (user.holds.length > 0)
    values[USER.holds] = user.holds.flatMap(({ system, id, amount, expiresMs }) => [system, id, amount, expiresMs]);
  if (user.owed.size > 0) values[USER.owed] = user.owed;
  putScoreTimes(values, user.scoreTimes);
  if (user.stays.length > 0)
    values[USER.teams] = user.stays.flatMap(({ board, runDay, sinceMs, team, whole, micros }) => [
      board,
      runDay,
      sinceMs,
      team,
      whole,
      micros,
    ]);
  if (user.metadata.length > 0)
    values[USER.metadata] = user.metadata.map(({ event, json, runs }) => [
      event,
      json,
      runs.flatMap(({ board, runDay }) => [board, runDay]),
    ]);
  if (user.guarded.size > 0) values[USER.guarded] = packedMap(user.guarded, packedGuardSums);
  if (user.corrections > 0) values[USER.corrections] = user.corrections;
  values[USER.earnedDay] = user.earnedDay ?? undefined;
  values[USER.settledMs] = user.settledMs ?? undefined;
  values[USER.begunDay] = user.begunDay ?? undefined;
  values[USER.name] = user.name ?? undefined;
  values[USER.email] = user.email ?? undefined;
  values[USER.deviceTokens] = user.deviceTokens ?? undefined;
  values[USER.zone] = user.zone ?? undefined;
  values[USER.offsetSeconds] = user.offsetSeconds ?? undefined;
  values[USER.offsetUntilMs] = user.offsetUntilMs ?? undefined;
  values[USER.notifications] = user.notifications ?? undefined;
  values[USER.generation] = user.generation ?? undefined;
  values[USER.recomputed] = user.recomputed ?? undefined;
  values[USER.importedBy] = user.importedBy ?? undefined;
  values[USER.importedMs] = user.importedMs ?? undefined;
  values[USER.heldUntilMs] = user.heldUntilMs ?? undefined;
  values.push(...user.unknown);
  while (values.at(-1) === undefined) values.pop();
  // The values follow the array's header of three bytes.
  return packr.pack(values).subarray(ARRAY_HEADER);
}

/** Of an array of 16 to 65,535 values. */
const ARRAY_HEADER = 3;

const NO_VALUES: unknown[] = [];
const NO_FIELDS: Values = Array.from({ length: STATE_SIZE }, () => undefined);

const same = <T>(value: unknown): T => value as T;
const optional = <T>(value: unknown): T | null => (value ?? null) as T | null;

/** A table by number. Lua packed it as a list if its keys happened to be 1..n. */
function mapOf<T>(table: unknown, convert: (value: unknown) => T): Map<number, T> {
  const map = new Map<number, T>();
  if (table === undefined) return map;
  if (Array.isArray(table)) for (let at = 0; at < table.length; at += 1) map.set(at + 1, convert(table[at]));
  else for (const [no, value] of table as Map<number, unknown>) map.set(no, convert(value));
  return map;
}

function packedMap<T>(map: ReadonlyMap<number, T>, convert: (value: T) => unknown): Map<number, unknown> {
  const packed = new Map<number, unknown>();
  for (const [no, value] of map) packed.set(no, convert(value));
  return packed;
}

function listOf<T>(list: unknown, convert: (value: Values) => T): T[] {
  return list === undefined ? [] : (list as Values[]).map(convert);
}

/** Rows of a fixed number of values in one list. An empty Lua table may have been packed as a map. */
function rowsOf<T>(list: unknown, size: number, convert: (values: Values, at: number) => T): T[] {
  const rows: T[] = [];
  if (!Array.isArray(list)) return rows;
  for (let at = 0; at < list.length; at += size) rows.push(convert(list, at));
  return rows;
}

function totalOf(value: unknown): Total {
  const [whole, micros, peak] = value as [number, number, number?];
  return { whole, micros, peak: peak ?? null };
}

const packedTotal = ({ whole, micros, peak }: Total): number[] =>
  peak === null ? [whole, micros] : [whole, micros, peak];

function decimalOf(value: unknown): Decimal {
  const [whole, micros] = value as [number, number];
  return { whole, micros };
}

const packedDecimal = ({ whole, micros }: Decimal): number[] => [whole, micros];

const known = (value: unknown): number | null => (value === undefined || value === -1 ? null : (value as number));

const streakAt = (values: Values, at: number): Streak => ({
  length: (values[at + STREAK.length] as number | undefined) ?? 0,
  startDay: known(values[at + STREAK.startDay]),
  lastPeriod: known(values[at + STREAK.lastPeriod]),
  extendedMs: known(values[at + STREAK.extendedMs]),
  currentPeriod: known(values[at + STREAK.currentPeriod]),
  sums: mapOf(values[at + STREAK.sums], decimalOf),
});

function putStreak(values: Values, at: number, streak: Streak): void {
  values[at + STREAK.length] = streak.length;
  values[at + STREAK.startDay] = streak.startDay ?? -1;
  values[at + STREAK.lastPeriod] = streak.lastPeriod ?? -1;
  values[at + STREAK.extendedMs] = streak.extendedMs ?? -1;
  values[at + STREAK.currentPeriod] = streak.currentPeriod ?? -1;
  if (streak.sums.size > 0) values[at + STREAK.sums] = packedMap(streak.sums, packedDecimal);
}

const scoreOf = (values: Values, at: number): Score => ({
  board: values[at + SCORE.board] as number,
  runDay: values[at + SCORE.runDay] as number,
  group: values[at + SCORE.group] as string,
  whole: values[at + SCORE.whole] as number,
  micros: values[at + SCORE.micros] as number,
});

function packedScores(scores: readonly Score[]): Values {
  const values: Values = [];
  for (const { board, runDay, group, whole, micros } of scores) values.push(board, runDay, group, whole, micros);
  return values;
}

const scoreTimeOf = (values: Values, at: number): ScoreTime => ({
  board: values[at + SCORE_TIME.board] as number,
  runDay: values[at + SCORE_TIME.runDay] as number,
  reached: values[at + SCORE_TIME.reached] as number,
});

function scoreTimesOf(values: Values): ScoreTime[] {
  const times = rowsOf(values[USER.scoreTimes], SCORE_TIME.size, scoreTimeOf);
  const { size, board, runDay, secondary } = SCORE_SECONDARY;
  rowsOf(values[USER.secondaries], size, (row, at) => {
    const time = times.find((each) => each.board === row[at + board] && each.runDay === row[at + runDay]);
    if (time !== undefined) time.secondary = row[at + secondary] as number;
  });
  return times;
}

function putScoreTimes(values: Values, times: readonly ScoreTime[]): void {
  if (times.length === 0) return;
  values[USER.scoreTimes] = times.flatMap(({ board, runDay, reached }) => [board, runDay, reached]);
  const secondaries = times.filter(({ secondary }) => secondary !== undefined);
  if (secondaries.length > 0)
    values[USER.secondaries] = secondaries.flatMap(({ board, runDay, secondary }) => [board, runDay, secondary!]);
}

const stayOf = (values: Values, at: number): Stay => ({
  board: values[at + STAY.board] as number,
  runDay: values[at + STAY.runDay] as number,
  sinceMs: values[at + STAY.sinceMs] as number,
  team: values[at + STAY.team] as string,
  whole: values[at + STAY.whole] as number,
  micros: values[at + STAY.micros] as number,
});

const metadataOf = (values: Values): SentMetadata => ({
  event: values[METADATA.event] as string,
  json: values[METADATA.json] as string,
  runs: rowsOf(values[METADATA.runs], 2, (run, at) => ({ board: run[at] as number, runDay: run[at + 1] as number })),
});

const holdOf = (values: Values, at: number): Hold => ({
  system: values[at + HOLD.system] as number,
  id: values[at + HOLD.id] as string,
  amount: values[at + HOLD.amount] as number,
  expiresMs: values[at + HOLD.expiresMs] as number,
});

const pauseOf = ([from, to, id]: Values): Pause => ({ from: from as number, to: to as number, id: id as string });

type PackedRule = [enabled: number, all: number, metrics: [number, number, number][]];

const flagOf = (value: number): boolean | null => (value === -1 ? null : value === 1);
const packedFlag = (flag: boolean | null): number => (flag === null ? -1 : Number(flag));

const ruleOf = ([enabled, all, metrics]: PackedRule): OwnStreakRule => ({
  enabled: flagOf(enabled),
  all: flagOf(all),
  metrics: listOf(Array.isArray(metrics) ? metrics : undefined, ([metric, whole, micros]) => ({
    metric: metric as number,
    whole: whole as number,
    micros: micros as number,
  })),
});

const packedRule = ({ enabled, all, metrics }: OwnStreakRule): PackedRule => [
  packedFlag(enabled),
  packedFlag(all),
  metrics.map(({ metric, whole, micros }) => [metric, whole, micros]),
];

function questOf(value: unknown): QuestProgress {
  const [times, periods] = value as [number, unknown];
  return {
    times,
    periods: listOf(Array.isArray(periods) ? periods : undefined, ([period, whole, micros, done]) => ({
      period: period as number,
      whole: whole as number,
      micros: micros as number,
      done: done === 1,
    })),
  };
}

const packedQuest = ({ times, periods }: QuestProgress): Values => [
  times,
  periods.map(({ period, whole, micros, done }) => [period, whole, micros, done ? 1 : 0]),
];

function guardSumsOf(value: unknown): GuardSums {
  const [hour, hourWhole, hourMicros, day, dayWhole, dayMicros, lastMs] = value as number[];
  return {
    hour: hour!,
    hourSum: { whole: hourWhole!, micros: hourMicros! },
    day: day!,
    daySum: { whole: dayWhole!, micros: dayMicros! },
    lastMs: lastMs ?? null,
  };
}

const packedGuardSums = ({ hour, hourSum, day, daySum, lastMs }: GuardSums): Values => [
  hour,
  hourSum.whole,
  hourSum.micros,
  day,
  daySum.whole,
  daySum.micros,
  ...(lastMs === null ? [] : [lastMs]),
];
