import type { HappenedRecord } from '../../packed/record.ts';
import { AWARD, RECORD, RECORDED_POINTS } from '../../packed/record-fields.ts';

/** The numbers of the achievements, points systems, triggers and boosts that a record names. */
export const numbersIn = (record: HappenedRecord): number[] => [
  ...(record[RECORD.completed] ?? []),
  ...(record[RECORD.points] ?? []).flatMap((points) => [
    points[RECORDED_POINTS.system],
    ...points[RECORDED_POINTS.awards].flatMap((award) => [award[AWARD.trigger], ...award[AWARD.boosts]]),
  ]),
];
