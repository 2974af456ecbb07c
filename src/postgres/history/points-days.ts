import type { Pool } from 'pg';
import { awardsAndSums } from '../partitions/dropped-days.ts';
import { dayRowsQuery, ofNumber, readDayRows, type AskedDays, type DayRows } from './day-rows.ts';

export const POINTS_DAYS = dayRowsQuery(awardsAndSums(ofNumber('system_no')), 'awarded');

/** Points that a user was awarded in a points system on each of some local days; see `readDayRows`. */
export const pointsDays = (pool: Pool, { systemNo, ...days }: AskedDays & { systemNo: number }): Promise<DayRows> =>
  readDayRows(pool, POINTS_DAYS, { ...days, no: systemNo });
