import type { Pool } from 'pg';
import { eventsAndSums } from '../partitions/dropped-days.ts';

/** Parameters: tenant number, user ID, last epoch day. */
export const USER_METRIC_DAYS = `
  SELECT
    metric_no AS "metricNo",
    local_date - DATE '1970-01-01' AS day,
    sum(events)::bigint AS events,
    sum(positive)::bigint AS positive,
    sum(value)::text AS change
  FROM ${eventsAndSums({ user: '$2', where: "local_date <= DATE '1970-01-01' + $3::int" })} AS kept
  GROUP BY metric_no, local_date
  ORDER BY metric_no, local_date`;

/** A user's events of one metric on one local day. */
export interface MetricDay {
  metricNo: number;
  /** Epoch day. */
  day: number;
  events: number;
  /** Number of events with a value above 0. */
  positive: number;
  /** Sum of the values, as decimal text. */
  change: string;
}

/**
 * A user's events up to a local day, by metric and day, in this order. Reads every partition, with a prepared statement, because planning took 1.8 of
 * 2.9 ms with 52 partitions.
 */
export async function userMetricDays(
  pool: Pool,
  { tenantNo, userId, toDay }: { tenantNo: number; userId: string; toDay: number },
): Promise<MetricDay[]> {
  const statement = { name: 'user_metric_days', text: USER_METRIC_DAYS, values: [tenantNo, userId, toDay] };
  return (await pool.query<MetricDay>(statement)).rows;
}
