import type { Pool } from 'pg';
import type { Days } from '../../domain/periods.ts';
import { eventsAndSums } from '../partitions/dropped-days.ts';

/** Most values per attribute, metric and window: those with the largest sums. */
export const MOST_VALUES = 100;
/** Most values per window; for each attribute, the largest first. */
export const MOST_IN_ALL = 1_000;

/**
 * Most events, or sums of days with equal attributes, that are read per user. Beyond that some attributes are missing: a
 * client that sends different values with every event gets an incomplete answer instead of occupying Postgres for a second.
 */
const MOST_ROWS = 10_000;

/**
 * Parameters: tenant number, user ID, first and last epoch days of the windows, indexes of the windows to show, keys of the
 * attributes, `MOST_VALUES`, `MOST_IN_ALL`.
 */
export const USER_ATTRIBUTE_SUMS = `
  WITH days AS MATERIALIZED (
    SELECT metric_no, attribute.key, attribute.value, local_date - DATE '1970-01-01' AS day,
      sum(kept.value) AS change
    FROM (SELECT * FROM ${eventsAndSums({ user: '$2', where: 'true', byAttributes: true })} AS all_kept LIMIT ${MOST_ROWS}) AS kept
      CROSS JOIN LATERAL jsonb_each_text(attributes) AS attribute
    WHERE attribute.key = ANY($6::text[])
    GROUP BY 1, 2, 3, 4
  ), sums AS MATERIALIZED (
    SELECT metric_no, key, value, no::int - 1 AS window_no, sum(change) AS change
    FROM days JOIN unnest($3::int[], $4::int[]) WITH ORDINALITY AS windows (from_day, to_day, no)
      ON day BETWEEN from_day AND to_day
    GROUP BY 1, 2, 3, 4
  ), placed AS (
    SELECT *, row_number() OVER (PARTITION BY window_no, metric_no, key ORDER BY change DESC, value) AS place
    FROM sums WHERE window_no = ANY($5::int[])
  ), shown AS MATERIALIZED (
    SELECT metric_no, key, value, window_no FROM (
      SELECT *, row_number() OVER (PARTITION BY window_no ORDER BY place, metric_no, key) AS in_all
      FROM placed WHERE place <= $7
    ) AS counted
    WHERE in_all <= $8
  )
  SELECT metric_no AS "metricNo", key, value, window_no AS "window", change::text AS change,
    (metric_no, key, value, window_no) IN (SELECT * FROM shown) AS shown
  FROM sums WHERE (metric_no, key, value) IN (SELECT metric_no, key, value FROM shown)`;

/** Sum of a metric's events with one value of an event attribute, in one window of days. */
export interface AttributeSum {
  metricNo: number;
  key: string;
  value: string;
  /** Index of the window. */
  window: number;
  /** Decimal text. */
  change: string;
  /** Whether the window shows it; other values are there for comparison. */
  shown: boolean;
}

/**
 * A user's sums by metric, event attribute and value, per window with such events. Windows to show contain only the largest
 * sums (see `MOST_VALUES`): a client that sends 60,000 values would otherwise get an answer of 26 MB.
 */
export async function userAttributeSums(
  pool: Pool,
  of: { tenantNo: number; userId: string; windows: readonly Days[]; shown: readonly number[]; keys: readonly string[] },
): Promise<AttributeSum[]> {
  const { tenantNo, userId, windows, shown, keys } = of;
  const parameters = [
    tenantNo,
    userId,
    windows.map(({ fromDay }) => fromDay),
    windows.map(({ toDay }) => toDay),
    shown,
    keys,
    MOST_VALUES,
    MOST_IN_ALL,
  ];
  return (await pool.query<AttributeSum>(USER_ATTRIBUTE_SUMS, parameters)).rows;
}
