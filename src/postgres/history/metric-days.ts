import type { Pool } from 'pg';
import { eventsAndSums } from '../partitions/dropped-days.ts';
import { dayRowsQuery, ofNumber, readDayRows, type AskedDays, type DayRows } from './day-rows.ts';

export const METRIC_DAYS = dayRowsQuery(eventsAndSums(ofNumber('metric_no')), 'value');

/** Sums of a user's events of a metric on each of some local days; see `readDayRows`. */
export const metricDays = (pool: Pool, { metricNo, ...days }: AskedDays & { metricNo: number }): Promise<DayRows> =>
  readDayRows(pool, METRIC_DAYS, { ...days, no: metricNo });
