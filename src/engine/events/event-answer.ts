import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { decimalNumber, decimalText } from '../../domain/decimal.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { floorOf, NO_SCORE, turned } from '../../domain/leaderboard.ts';
import { GUARD_NAMES, type GuardName } from '../../domain/administration/guards.ts';
import { dateOf } from '../../domain/periods.ts';
import { runOf } from '../../domain/runs.ts';
import { uuidText } from '../../domain/schemas.ts';
import { AppError } from '../../errors.ts';
import { GUARD, GUARD_ACTION, GUARDED, QUARANTINED } from '../../packed/guard-fields.ts';
import type { QuestProgress } from '../../domain/achievement.ts';
import { completedIn } from '../../packed/completed.ts';
import {
  AWARD,
  RECORD,
  RECORDED_BOARD,
  RECORDED_POINTS,
  RECORDED_QUEST,
  RECORDED_STREAK,
} from '../../packed/record-fields.ts';
import type {
  GuardedRecord,
  HappenedRecord,
  RecordedBoard,
  RecordedQuest,
  RecordedStreak,
} from '../../packed/record.ts';
import { decimalOf } from '../../packed/state.ts';
import { awardId } from '../ids.ts';
import { openAchievementJson, recordedQuest } from '../responses/achievements.ts';
import { groupFields, leaderboardResponse } from '../responses/leaderboards.ts';
import { boostResponse, levelResponse, pointsResponse, triggerResponse } from '../responses/points.ts';
import { recordedStreak } from '../responses/streaks.ts';

/** An object's JSON text without the closing brace, so that fields can be appended. */
const open = (object: object): string => JSON.stringify(object).slice(0, -1);

function once<K, V>(make: (key: K) => V): (key: K) => V {
  const values = new Map<K, V>();
  return (key) => {
    let value = values.get(key);
    if (value === undefined) values.set(key, (value = make(key)));
    return value;
  };
}

/** Catalog-dependent parts of answers as JSON text: assembling them is cheaper than serializing objects. */
class AnswerFragments {
  readonly trigger: (no: number) => string;
  readonly boosts: (nos: string) => string;
  readonly level: (id: string) => string;
  readonly system: (no: number) => string;
  /** A board in a run. The key is `<board no> <run day>`. */
  readonly board: (run: string) => string;
  private readonly compiled: CompiledCatalog;

  constructor(compiled: CompiledCatalog, day: number) {
    this.compiled = compiled;
    this.trigger = once((no) => JSON.stringify(triggerResponse(compiled, compiled.triggersByNo.get(no)!)));
    this.boosts = once((nos) =>
      JSON.stringify(nos.split(',').map((no) => boostResponse(compiled.boostsByNo.get(Number(no))!, day))),
    );
    this.level = once((id) => JSON.stringify(levelResponse(compiled.catalog.levels.find((level) => level.id === id)!)));
    this.system = once((no) => {
      const response = pointsResponse(compiled.pointsSystemsByNo.get(no)!);
      return `${JSON.stringify(response.key)}:${open(response)}`;
    });
    this.board = once((run) => {
      const [no, runDay] = run.split(' ').map(Number) as [number, number];
      const board = compiled.leaderboardsByNo.get(no)!;
      const { endDay } = runOf(board, runDay)!;
      const dates = { start: dateOf(runDay), end: endDay === null ? null : dateOf(endDay) };
      return `${JSON.stringify(board.key)}:${open({ ...leaderboardResponse(compiled, board), status: 'active', ...dates })}`;
    });
  }

  /** The fields that name a board's group; empty without a breakdown. */
  group(boardNo: number, group: string): string {
    if (group === '') return '';
    const fields = groupFields(this.compiled, this.compiled.leaderboardsByNo.get(boardNo)!, group);
    return `,${JSON.stringify(fields).slice(1, -1)}`;
  }
}

const fragments = new WeakMap<CompiledCatalog, Map<number, AnswerFragments>>();

/** Users of all zones are on up to three days at once. */
const MOST_DAYS = 3;

/** Fragments are made again for each catalog version and day, since a boost's status depends on the day. */
function fragmentsOf(compiled: CompiledCatalog, day: number): AnswerFragments {
  let days = fragments.get(compiled);
  if (days === undefined) fragments.set(compiled, (days = new Map()));
  let ofDay = days.get(day);
  if (ofDay === undefined) {
    if (days.size >= MOST_DAYS) days.delete(days.keys().next().value!);
    days.set(day, (ofDay = new AnswerFragments(compiled, day)));
  }
  return ofDay;
}

/** JSON of the streak in the configured frequency after the event. */
export function streakJson(compiled: CompiledCatalog, recorded: RecordedStreak, day: number): string {
  const base = recordedStreak(compiled, recorded, day);
  return JSON.stringify({ ...base, extended: recorded[RECORDED_STREAK.extended] === 1 });
}

/** JSON of the changed points systems, by key. Award IDs are numbered across all systems of a record. */
export function pointsJson(compiled: CompiledCatalog, record: HappenedRecord): string {
  const changedPoints = record[RECORD.points];
  if (changedPoints === undefined) return '{}';
  const parts = fragmentsOf(compiled, record[RECORD.day]);
  const date = new Date(record[RECORD.atMs]).toISOString();
  let ordinal = 0;
  const systems = changedPoints.map((points) => {
    const no = points[RECORDED_POINTS.system];
    const before = points[RECORDED_POINTS.before];
    const total = points[RECORDED_POINTS.after];
    const systemId = compiled.pointsSystemsByNo.get(no)!.id;
    const level = compiled.levelOf(systemId, total);
    const changed = level?.id !== compiled.levelOf(systemId, before)?.id;
    const levelField = changed ? `,"level":${level === null ? 'null' : parts.level(level.id)}` : '';
    const awardTexts = points[RECORDED_POINTS.awards].map((award) => {
      ordinal += 1;
      const boosts = award[AWARD.boosts];
      const boostField = boosts.length > 0 ? `,"boosts":${parts.boosts(boosts.join(','))}` : '';
      return `{"id":"${uuidText(awardId(record[RECORD.id], ordinal))}","awarded":${award[AWARD.awarded]},"date":"${date}","total":${award[AWARD.after]},"trigger":${parts.trigger(award[AWARD.trigger])}${boostField}}`;
    });
    return `${parts.system(no)},"total":${total}${levelField},"added":${total - before},"awards":[${awardTexts.join(',')}]}`;
  });
  return `{${systems.join(',')}}`;
}

function boardsJson(compiled: CompiledCatalog, parts: AnswerFragments, boards: RecordedBoard[]): string {
  const rank = (value: number): string => (value === -1 ? 'null' : String(value));
  const texts = boards.map((board) => {
    const no = board[RECORDED_BOARD.board];
    const previousRank = rank(board[RECORDED_BOARD.previousRank]);
    return `${parts.board(`${no} ${board[RECORDED_BOARD.runDay]}`)},"rank":${rank(board[RECORDED_BOARD.rank])},"previousRank":${previousRank},${thresholdJson(compiled.leaderboardsByNo.get(no)!, board[RECORDED_BOARD.threshold])}${parts.group(no, board[RECORDED_BOARD.group])}}`;
  });
  return `{${texts.join(',')}}`;
}

/** The value of the last rank; 0 if the leaderboard has room. */
function thresholdJson(board: Leaderboard, threshold: number): string {
  if (floorOf(board) === 0) return `"threshold":${threshold}`;
  const isFull = threshold !== NO_SCORE;
  return `"threshold":${isFull ? turned(board, threshold) : 0},"full":${isFull}`;
}

function achievementsJson(compiled: CompiledCatalog, record: HappenedRecord): string {
  const completed = completedIn(record);
  const achievedAt = completed.length > 0 ? `,"achievedAt":"${new Date(record[RECORD.atMs]).toISOString()}"` : '';
  const questJson = (no: number, quest: RecordedQuest | null): string =>
    quest === null
      ? ''
      : `,${JSON.stringify(recordedQuest(compiled, compiled.achievementsByNo.get(no)!, quest)).slice(1, -1)}`;
  return completed
    .map(
      ({ achievementNo: no, quest }) =>
        `${openAchievementJson(compiled, compiled.achievementsByNo.get(no)!)}${achievedAt}${questJson(no, quest)}}`,
    )
    .join(',');
}

/** JSON text of the repeating achievements in whose periods an event counts, to be appended to others; '' for none. */
function progressJson(compiled: CompiledCatalog, record: HappenedRecord): string {
  const quests = record[RECORD.quests];
  if (quests === undefined) return '';
  const progress = quests.flatMap((quest): QuestProgress[] => {
    const achievement = compiled.achievementsByNo.get(quest[RECORDED_QUEST.achievement]);
    const fields = achievement && recordedQuest(compiled, achievement, quest);
    if (fields?.period === undefined) return [];
    // The answer goes to clients.
    if (achievement!.secret && quest[RECORDED_QUEST.times] === 0) return [];
    const { id, key, name, metricValue, repeat } = achievement!;
    return [
      {
        id,
        ...(key !== null && { key }),
        name,
        metricValue: metricValue ?? 0,
        ...(repeat !== null && { repeat }),
        ...fields,
        period: fields.period,
      },
    ];
  });
  return `,"achievementProgress":${JSON.stringify(progress)}`;
}

export function eventAnswer(compiled: CompiledCatalog, record: HappenedRecord, idempotencyKey: string | null): string {
  const parts = fragmentsOf(compiled, record[RECORD.day]);
  const metricId = compiled.metricsByNo.get(record[RECORD.metric]!)!.id;
  const total = decimalText(decimalOf(record[RECORD.total]!));
  const achievements = achievementsJson(compiled, record);
  const key =
    idempotencyKey === null ? '' : `,"idempotencyKey":${JSON.stringify(idempotencyKey)},"idempotentReplayed":false`;
  return (
    `{"eventId":"${uuidText(record[RECORD.id])}","metricId":"${metricId}","total":${total}` +
    `,"achievements":[${achievements}]${progressJson(compiled, record)},"currentStreak":${streakJson(compiled, record[RECORD.streak]!, record[RECORD.day])}` +
    `,"points":${pointsJson(compiled, record)},"leaderboards":${boardsJson(compiled, parts, record[RECORD.boards] ?? [])}${key}${clampedJson(record)}}`
  );
}

const NAMES = new Map<number, GuardName>(GUARD_NAMES.map((name) => [GUARD[name], name]));

export const guardName = (guard: number): GuardName => NAMES.get(guard)!;

const LIMITS: Record<GuardName, string> = {
  minValue: 'the value must be at least',
  maxValue: 'the value must be at most',
  minSecondsBetween: 'seconds between two events of a user must be at least',
  maxSumPerHour: 'the sum of a user in an hour must be at most',
  maxSumPerDay: 'the sum of a user in a day must be at most',
  maxTotal: "a user's total must be at most",
};

export const isQuarantined = (record: GuardedRecord): boolean =>
  record[RECORD.guard][GUARDED.action] === GUARD_ACTION.quarantined;

/** The error for an event that a guard refused. The metric or the guard may have been deleted since. */
export function guardError(compiled: CompiledCatalog, record: GuardedRecord): AppError {
  const name = guardName(record[RECORD.guard][GUARDED.guard]);
  const metric = compiled.metricsByNo.get(record[RECORD.metric] ?? 0);
  const limit = metric?.guards?.[name]?.limit;
  const rule = limit === undefined ? '' : `: ${LIMITS[name]} ${limit}`;
  const full =
    record[RECORD.guard][GUARDED.action] === GUARD_ACTION.full
      ? ' The event would be kept in quarantine, which holds as many as it may of this user or in all.'
      : '';
  return new AppError(
    'refused_by_guard',
    `Refused by the guard '${name}' of the metric '${metric?.key}'${rule}.${full}`,
  );
}

/** JSON text of the field that says how a guard reduced an applied event, to be appended to others; '' without a guard. */
function clampedJson(record: HappenedRecord): string {
  const guard = record[RECORD.guard];
  if (guard === undefined) return '';
  const value = decimalText(decimalOf(record[RECORD.value]!));
  return `,"guarded":{"guard":"${guardName(guard[GUARDED.guard])}","action":"clamp","value":${value}}`;
}

/** The same for an event in quarantine. */
export const quarantinedJson = (guard: number): string =>
  `,"guarded":{"guard":"${guardName(guard)}","action":"quarantine"}`;

/** The guard that holds an event (32 hex digits), by the user's QUARANTINED; `null`: none. */
export function quarantinedBy(events: string | undefined, eventId: string): number | null {
  for (let at = 0; at < (events?.length ?? 0); at += QUARANTINED.length)
    if (events!.startsWith(eventId, at)) return Number(events![at + QUARANTINED.idLength]);
  return null;
}

/** The same in words, for batch results. */
export const guardedResult = (
  record: HappenedRecord,
): { guarded?: { guard: GuardName; action: 'clamp'; value: number } } => {
  const guard = record[RECORD.guard];
  if (guard === undefined) return {};
  const value = decimalNumber(decimalOf(record[RECORD.value]!));
  return { guarded: { guard: guardName(guard[GUARDED.guard]), action: 'clamp', value } };
};
