import type { HappenedRecord } from '../../packed/record.ts';
import { AWARD, RECORD, RECORDED_POINTS } from '../../packed/record-fields.ts';

const MOST = 2 ** 31 - 1;

/** The numbers of the achievements, points systems, triggers and boosts that a record names; of one that is damaged, none. */
export function numbersIn(record: HappenedRecord): number[] {
  try {
    return named(record).filter((no) => Number.isInteger(no) && no > 0 && no <= MOST);
  } catch {
    return [];
  }
}

const named = (record: HappenedRecord): number[] => [
  ...(record[RECORD.completed] ?? []),
  ...(record[RECORD.points] ?? []).flatMap((points) => [
    points[RECORDED_POINTS.system],
    ...points[RECORDED_POINTS.awards].flatMap((award) => [award[AWARD.trigger], ...award[AWARD.boosts]]),
  ]),
];
