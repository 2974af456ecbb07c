import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { decimalText } from '../../domain/decimal.ts';
import type { HappenedRecord, RecordedBoard, RecordedPoints, RecordedStreak } from '../../packed/record.ts';
import { RECORD } from '../../packed/record-fields.ts';
import { baseStreak } from '../responses/streak-response.ts';
import { AnswerFragments } from './answer-fragments.ts';
import { awardId, uuidText } from '../ids/event-id.ts';

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
  const [length, startDay, lastPeriod, extended, freezesLeft, offDays = 0] = recorded;
  const streak = { length, startDay: startDay === -1 ? null : startDay, lastPeriod };
  const base = baseStreak(compiled, { streak, freezesLeft, day, offDays });
  return JSON.stringify({ ...base, extended: extended === 1 });
}

/** JSON of the points systems that something changed, by key. Award IDs count through all systems of a record. */
export function pointsJson(compiled: CompiledCatalog, record: HappenedRecord): string {
  const parts = fragmentsOf(compiled, record[RECORD.day]);
  const date = new Date(record[RECORD.atMs]).toISOString();
  let ordinal = 0;
  const systems = (record[RECORD.points] ?? []).map(([no, before, total, awards]: RecordedPoints) => {
    const systemId = compiled.pointsSystemsByNo.get(no)!.id;
    const level = compiled.levelOf(systemId, total);
    const changed = level?.id !== compiled.levelOf(systemId, before)?.id;
    const levelField = changed ? `,"level":${level === null ? 'null' : parts.level(level.id)}` : '';
    const awardTexts = awards.map(([triggerNo, awarded, after, boosts]) => {
      ordinal += 1;
      const boostField = boosts.length > 0 ? `,"boosts":${parts.boosts(boosts.join(','))}` : '';
      return `{"id":"${awardId(record[RECORD.id], ordinal)}","awarded":${awarded},"date":"${date}","total":${after},"trigger":${parts.trigger(triggerNo)}${boostField}}`;
    });
    return `${parts.system(no)},"total":${total}${levelField},"added":${total - before},"awards":[${awardTexts.join(',')}]}`;
  });
  return `{${systems.join(',')}}`;
}

function boardsJson(parts: AnswerFragments, boards: RecordedBoard[]): string {
  const rank = (value: number): string => (value === -1 ? 'null' : String(value));
  const texts = boards.map(
    ([no, runDay, group, previousRank, newRank, threshold]) =>
      `${parts.board(`${no} ${runDay}`)},"rank":${rank(newRank)},"previousRank":${rank(previousRank)},"threshold":${threshold}${parts.group(no, group)}}`,
  );
  return `{${texts.join(',')}}`;
}

/** The answer to an event that was processed, as JSON text of an `EventResponse`. */
export function eventAnswer(compiled: CompiledCatalog, record: HappenedRecord, idempotencyKey: string | null): string {
  const parts = fragmentsOf(compiled, record[RECORD.day]);
  const metricId = compiled.metricsByNo.get(record[RECORD.metric]!)!.id;
  const [whole, micros] = record[RECORD.total]!;
  const completed = record[RECORD.completed] ?? [];
  const achievedAt = completed.length > 0 ? `,"achievedAt":"${new Date(record[RECORD.atMs]).toISOString()}"}` : '';
  const achievements = completed.map((no) => parts.achievement(no) + achievedAt).join(',');
  const key =
    idempotencyKey === null ? '' : `,"idempotencyKey":${JSON.stringify(idempotencyKey)},"idempotentReplayed":false`;
  return (
    `{"eventId":"${uuidText(record[RECORD.id])}","metricId":"${metricId}","total":${decimalText({ whole, micros })}` +
    `,"achievements":[${achievements}],"currentStreak":${streakJson(compiled, record[RECORD.streak]!, record[RECORD.day])}` +
    `,"points":${pointsJson(compiled, record)},"leaderboards":${boardsJson(parts, record[RECORD.boards] ?? [])}${key}}`
  );
}
