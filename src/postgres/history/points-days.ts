import type { Pool } from 'pg';
import { awardsAndSums } from '../partitions/dropped-days.ts';
import { dayRowsQuery, ofNumber, readDayRows, type AskedDays, type DayRows } from './day-rows.ts';

export const POINTS_DAYS = dayRowsQuery(awardsAndSums(ofNumber('system_no')), 'awarded');

/** What a user's awards in a points system added on each of some local days, see `readDayRows`. */
export const pointsDays = (pool: Pool, { systemNo, ...days }: AskedDays & { systemNo: number }): Promise<DayRows> =>
  readDayRows(pool, POINTS_DAYS, { ...days, no: systemNo });
