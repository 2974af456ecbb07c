import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { decimalText } from '../../domain/decimal.ts';
import { toMicros, type Micros } from '../../domain/micros.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import {
  KIND,
  kindField,
  RECORD,
  RECORDED_POINTS,
  RECORDED_STREAK,
  SETTLED,
  SETTLEMENT,
} from '../../packed/record-fields.ts';
import { FREQUENCY, TOTAL } from '../../packed/user-fields.ts';

/**
 * What a record that moved a user on a board added to the score there: with it the previous score is known from the score
 * after it, which records need not hold. Null: the record does not say.
 */
export function earnedOn(compiled: CompiledCatalog, board: Leaderboard, record: HappenedRecord): Micros | null {
  // Who is hidden, or shown again, keeps the score.
  if (record[kindField] === KIND.user && record[RECORD.points] === undefined) return 0n;
  if (board.rankBy === 'metric') return earnedOfMetric(record);
  if (board.rankBy === 'streak') return whole(earnedOfStreak(compiled, record));
  const system = compiled.pointsSystemsById.get(board.pointsSystemId ?? '')?.no;
  const points = record[RECORD.points]?.find((each) => each[RECORDED_POINTS.system] === system);
  return points === undefined ? null : whole(points[RECORDED_POINTS.after] - points[RECORDED_POINTS.before]);
}

function earnedOfMetric(record: HappenedRecord): Micros | null {
  const value = record[RECORD.value];
  if (value === undefined) return null;
  return toMicros(decimalText({ whole: value[TOTAL.whole], micros: value[TOTAL.micros] }));
}

/** Of a late event it is not known how much longer the streak is by it. */
function earnedOfStreak({ catalog: { streaks } }: CompiledCatalog, record: HappenedRecord): number | null {
  const streak = record[RECORD.streak];
  const lost = record[RECORD.settlements]?.findLast(
    (settlement) =>
      settlement[SETTLEMENT.frequency] === FREQUENCY[streaks.frequency] && settlement[SETTLEMENT.kind] === SETTLED.lost,
  );
  if (lost !== undefined) return (streak?.[RECORDED_STREAK.length] ?? 0) - (lost[SETTLEMENT.length] ?? 0);
  const isUsual = record[kindField] === KIND.event && record[RECORD.occurredDay] === undefined;
  return isUsual && streak?.[RECORDED_STREAK.extended] === 1 ? 1 : null;
}

const whole = (value: number | null): Micros | null => (value === null ? null : toMicros(String(value)));
