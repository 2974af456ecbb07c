import type { Pool } from 'pg';
import type { Days } from '../../domain/periods.ts';

/** Parameters: tenant number, user ID, first and last epoch days of the windows. */
export const USER_ATTRIBUTE_SUMS = `
  WITH days AS MATERIALIZED (
    SELECT metric_no, attribute.key, attribute.value, local_date - DATE '1970-01-01' AS day,
      sum(events.value) AS change
    FROM events CROSS JOIN LATERAL jsonb_each_text(attributes) AS attribute
    WHERE tenant_no = $1 AND user_id = $2 AND attributes IS NOT NULL
    GROUP BY 1, 2, 3, 4
  )
  SELECT metric_no AS "metricNo", key, value, no::int - 1 AS window, sum(change)::text AS change
  FROM days JOIN unnest($3::int[], $4::int[]) WITH ORDINALITY AS windows (from_day, to_day, no)
    ON day BETWEEN from_day AND to_day
  GROUP BY 1, 2, 3, 4`;

/** What events of a metric with one value of an event attribute add up to in one window of days. */
export interface AttributeSum {
  metricNo: number;
  /** The attribute's key. */
  key: string;
  value: string;
  /** Index of the window. */
  window: number;
  /** Decimal text. */
  change: string;
}

/** A user's sums by metric, event attribute and value, for each window in which there is such an event. */
export async function userAttributeSums(
  pool: Pool,
  { tenantNo, userId, windows }: { tenantNo: number; userId: string; windows: readonly Days[] },
): Promise<AttributeSum[]> {
  const parameters = [tenantNo, userId, windows.map(({ fromDay }) => fromDay), windows.map(({ toDay }) => toDay)];
  return (await pool.query<AttributeSum>(USER_ATTRIBUTE_SUMS, parameters)).rows;
}
