import type { Pool } from 'pg';
import { mayBeEarlier, readSinceDay } from '../partitions/since-day.ts';

/** Changes by local day, read at one moment. */
export interface DayRows {
  /** The user's packed state; `null` if the user is not stored yet. */
  state: Buffer | null;
  /** Sum of the changes after the last requested day, as decimal text. */
  later: string;
  /** Epoch days with changes, ascending. */
  days: number[];
  /** Decimal text, one per entry of `days`. */
  changes: string[];
}

/** Selects rows of one user and metric or points system since a day. Parameters as for `dayRowsQuery`. */
export const ofNumber = (column: 'metric_no' | 'system_no'): { user: string; where: string; firstId: string } => ({
  user: '$2',
  where: `${column} = $3 AND local_date >= DATE '1970-01-01' + $4::int`,
  firstId: '$6',
});

/**
 * Query of `readDayRows`. Parameters: tenant number, user ID, number of a metric or points system, first and last epoch day, first ID
 * (`readSinceDay`). `kept`: rows or sums (`eventsAndSums`). `change`: their column.
 */
export const dayRowsQuery = (kept: string, change: string): string => `
  WITH days AS MATERIALIZED (
    SELECT local_date - DATE '1970-01-01' AS day, sum(${change}) AS change
    FROM ${kept} AS kept
    GROUP BY local_date
  )
  SELECT
    (SELECT state FROM users WHERE tenant_no = $1 AND id = $2) AS state,
    coalesce((SELECT sum(change) FROM days WHERE day > $5::int), 0)::text AS later,
    ARRAY(SELECT day FROM days WHERE day <= $5::int ORDER BY day) AS days,
    ARRAY(SELECT change::text FROM days WHERE day <= $5::int ORDER BY day) AS changes,
    ${mayBeEarlier('$4::int')} AS "mayBeEarlier"`;

export interface AskedDays {
  tenantNo: number;
  userId: string;
  fromDay: number;
  toDay: number;
}

/**
 * The changes on each local day, the sum of later changes, and the user's state, all read at one moment. The totals follow from these without
 * reading anything before the first day.
 */
export async function readDayRows(
  pool: Pool,
  query: string,
  { tenantNo, userId, no, fromDay, toDay }: AskedDays & { no: number },
): Promise<DayRows> {
  const { mayBeEarlier: _, ...found } = await readSinceDay(fromDay, {
    rows: async (firstId) => {
      const values = [tenantNo, userId, no, fromDay, toDay, firstId];
      return (await pool.query<DayRows & { mayBeEarlier: boolean }>(query, values)).rows[0]!;
    },
    missed: (row) => row.mayBeEarlier,
  });
  return found;
}
