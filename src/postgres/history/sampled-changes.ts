import type { Pool } from 'pg';
import { awardsAndSums, eventsAndSums } from '../partitions/event-retention.ts';
import { mayBeEarlier, readSinceDay } from '../partitions/id-windows.ts';

/** Changes of a random sample of a tenant's users; of all users if there are no more than requested. */
export interface SampledChanges {
  users: number;
  /** By number of the metric or points system: changes of the users who have any in these days, unordered. */
  changes: Map<number, number[]>;
}

/** A row of the statements: the size of the sample if it has no number, otherwise the changes. */
interface SampledRow {
  no: number | null;
  changes: number[];
  mayBeEarlier: boolean;
}

/** Selects rows of a sampled user on some local days. Parameters as for `sampledChangesQuery`. */
export const OF_SAMPLED_USER = {
  user: 'sample.id',
  where: "local_date BETWEEN DATE '1970-01-01' + $3::int AND DATE '1970-01-01' + $4::int",
  firstId: '$5',
};

/**
 * Query of `readSampledChanges`. Parameters: tenant number, number of users, first and last epoch day, first ID
 * (`readSinceDay`). `kept`: rows or sums (`eventsAndSums`). `no`, `change`: their columns.
 */
const sampledChangesQuery = (kept: string, { no, change }: { no: string; change: string }): string => `
  WITH sample AS MATERIALIZED (
    SELECT id FROM users WHERE tenant_no = $1 ORDER BY hashtextextended(id, 0), id LIMIT $2
  ), changes AS (
    SELECT no, change FROM sample CROSS JOIN LATERAL (
      SELECT ${no} AS no, sum(${change})::float8 AS change
      FROM ${kept} AS kept
      GROUP BY ${no}
    ) AS of_user
  )
  SELECT null AS no, ARRAY[count(*)::float8] AS changes, ${mayBeEarlier('$3::int')} AS "mayBeEarlier" FROM sample
  UNION ALL
  SELECT no, array_agg(change), false FROM changes GROUP BY no`;

interface AskedSample {
  tenantNo: number;
  users: number;
  fromDay: number;
  toDay: number;
}

/** Changes of each sampled user's totals over some local days. */
async function readSampledChanges(
  pool: Pool,
  query: string,
  { tenantNo, users, fromDay, toDay }: AskedSample,
): Promise<SampledChanges> {
  const rows = await readSinceDay(fromDay, {
    rows: async (firstId) => (await pool.query<SampledRow>(query, [tenantNo, users, fromDay, toDay, firstId])).rows,
    missed: (found) => found.some((row) => row.mayBeEarlier),
  });
  const sampled: SampledChanges = { users: 0, changes: new Map() };
  for (const { no, changes } of rows) {
    if (no === null) sampled.users = changes[0] ?? 0;
    else sampled.changes.set(no, changes);
  }
  return sampled;
}

export const SAMPLED_METRIC_CHANGES = sampledChangesQuery(eventsAndSums(OF_SAMPLED_USER), {
  no: 'metric_no',
  change: 'value',
});

/** Sums of each sampled user's events per metric, over some local days. */
export const sampledMetricChanges = (pool: Pool, asked: AskedSample): Promise<SampledChanges> =>
  readSampledChanges(pool, SAMPLED_METRIC_CHANGES, asked);

export const SAMPLED_POINTS_CHANGES = sampledChangesQuery(awardsAndSums(OF_SAMPLED_USER), {
  no: 'system_no',
  change: 'awarded',
});

/** Sums of each sampled user's awards per points system, over some local days. */
export const sampledPointsChanges = (pool: Pool, asked: AskedSample): Promise<SampledChanges> =>
  readSampledChanges(pool, SAMPLED_POINTS_CHANGES, asked);
