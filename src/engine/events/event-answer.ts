import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { decimalText } from '../../domain/decimal.ts';
import type { HappenedRecord, RecordedBoard, RecordedStreak } from '../../packed/record.ts';
import { AWARD, RECORD, RECORDED_BOARD, RECORDED_POINTS, RECORDED_STREAK } from '../../packed/record-fields.ts';
import { decimalOf } from '../../packed/state.ts';
import { recordedStreak } from '../responses/streak-response.ts';
import { AnswerFragments } from './answer-fragments.ts';
import { clampedJson } from './guarded-answer.ts';
import { uuidText } from '../../domain/uuid.ts';
import { awardId } from '../ids/event-id.ts';

const fragments = new WeakMap<CompiledCatalog, { day: number; of: AnswerFragments }>();

/** Fragments are made again with the catalog's version and with the day (a boost's status depends on it). */
function fragmentsOf(compiled: CompiledCatalog, day: number): AnswerFragments {
  const known = fragments.get(compiled);
  if (known !== undefined && known.day === day) return known.of;
  const made = new AnswerFragments(compiled, day);
  fragments.set(compiled, { day, of: made });
  return made;
}

/** JSON of the streak in the configured frequency, as it stands after the event. */
export function streakJson(compiled: CompiledCatalog, recorded: RecordedStreak, day: number): string {
  const base = recordedStreak(compiled, recorded, day);
  return JSON.stringify({ ...base, extended: recorded[RECORDED_STREAK.extended] === 1 });
}

/** JSON of the points systems that something changed, by key. Award IDs count through all systems of a record. */
export function pointsJson(compiled: CompiledCatalog, record: HappenedRecord): string {
  const parts = fragmentsOf(compiled, record[RECORD.day]);
  const date = new Date(record[RECORD.atMs]).toISOString();
  let ordinal = 0;
  const systems = (record[RECORD.points] ?? []).map((points) => {
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

function boardsJson(parts: AnswerFragments, boards: RecordedBoard[]): string {
  const rank = (value: number): string => (value === -1 ? 'null' : String(value));
  const texts = boards.map((board) => {
    const no = board[RECORDED_BOARD.board];
    const previousRank = rank(board[RECORDED_BOARD.previousRank]);
    return `${parts.board(`${no} ${board[RECORDED_BOARD.runDay]}`)},"rank":${rank(board[RECORDED_BOARD.rank])},"previousRank":${previousRank},"threshold":${board[RECORDED_BOARD.threshold]}${parts.group(no, board[RECORDED_BOARD.group])}}`;
  });
  return `{${texts.join(',')}}`;
}

/** The answer to an event that was processed, as JSON text of an `EventResponse`. */
export function eventAnswer(compiled: CompiledCatalog, record: HappenedRecord, idempotencyKey: string | null): string {
  const parts = fragmentsOf(compiled, record[RECORD.day]);
  const metricId = compiled.metricsByNo.get(record[RECORD.metric]!)!.id;
  const total = decimalText(decimalOf(record[RECORD.total]!));
  const completed = record[RECORD.completed] ?? [];
  const achievedAt = completed.length > 0 ? `,"achievedAt":"${new Date(record[RECORD.atMs]).toISOString()}"}` : '';
  const achievements = completed.map((no) => parts.achievement(no) + achievedAt).join(',');
  const key =
    idempotencyKey === null ? '' : `,"idempotencyKey":${JSON.stringify(idempotencyKey)},"idempotentReplayed":false`;
  return (
    `{"eventId":"${uuidText(record[RECORD.id])}","metricId":"${metricId}","total":${total}` +
    `,"achievements":[${achievements}],"currentStreak":${streakJson(compiled, record[RECORD.streak]!, record[RECORD.day])}` +
    `,"points":${pointsJson(compiled, record)},"leaderboards":${boardsJson(parts, record[RECORD.boards] ?? [])}${key}${clampedJson(record)}}`
  );
}
