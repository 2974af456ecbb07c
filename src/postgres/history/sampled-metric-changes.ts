import type { Pool } from 'pg';
import { toSampledChanges, type SampledChanges, type SampledRow } from './sampled-changes.ts';
import { eventsAndSums } from '../partitions/dropped-days.ts';
import { mayBeEarlier, readSinceDay } from '../partitions/since-day.ts';

/** Parameters: tenant number, number of users, first and last epoch day, first ID (`readSinceDay`). */
export const SAMPLED_METRIC_CHANGES = `
  WITH sample AS MATERIALIZED (
    SELECT id FROM users WHERE tenant_no = $1 ORDER BY hashtextextended(id, 0), id LIMIT $2
  ), changes AS (
    SELECT no, change FROM sample CROSS JOIN LATERAL (
      SELECT metric_no AS no, sum(value)::float8 AS change
      FROM ${eventsAndSums(
        `tenant_no = $1 AND user_id = sample.id
        AND local_date BETWEEN DATE '1970-01-01' + $3::int AND DATE '1970-01-01' + $4::int`,
        '$5',
      )} AS kept
      GROUP BY metric_no
    ) AS of_user
  )
  SELECT null AS no, ARRAY[count(*)::float8] AS changes, ${mayBeEarlier('$3::int')} AS "mayBeEarlier" FROM sample
  UNION ALL
  SELECT no, array_agg(change), false FROM changes GROUP BY no`;

/** What the events of each sampled user added to each metric in some local days. */
export async function sampledMetricChanges(
  pool: Pool,
  { tenantNo, users, fromDay, toDay }: { tenantNo: number; users: number; fromDay: number; toDay: number },
): Promise<SampledChanges> {
  const rows = await readSinceDay(fromDay, {
    rows: async (firstId) =>
      (await pool.query<SampledRow>(SAMPLED_METRIC_CHANGES, [tenantNo, users, fromDay, toDay, firstId])).rows,
    missed: (found) => found.some((row) => row.mayBeEarlier),
  });
  return toSampledChanges(rows);
}
