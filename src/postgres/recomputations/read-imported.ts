import type { PoolClient } from 'pg';
import type { ReadUsers } from './read-history.ts';

/** Sums of an imported user's events of a metric, as decimal text. */
export interface ImportedSums {
  userId: string;
  metricNo: number;
  /** Sum of the events since the import. */
  since: string;
  /** Difference between the highest total at the end of an imported day and the total at the end of the import. */
  above: string;
}

/** Sums of imported users, by metric; metrics without rows are missing. Reversed events and days do not count. */
export async function importedSums(
  client: PoolClient,
  { tenantNo, ids, metricNos }: ReadUsers & { metricNos: readonly number[] },
): Promise<ImportedSums[]> {
  const { rows } = await client.query<ImportedSums>(
    `WITH counted AS (
       SELECT user_id, metric_no, imported, value,
              sum(value) FILTER (WHERE imported) OVER (PARTITION BY user_id, metric_no ORDER BY at DESC, id DESC) - value AS later
         FROM events
        WHERE tenant_no = $1 AND user_id = ANY ($2) AND metric_no = ANY ($3) AND reverses IS NULL
          AND NOT EXISTS (SELECT FROM reversals
                           WHERE reversals.tenant_no = $1 AND reversals.user_id = ANY ($2)
                             AND root_id = events.id AND in_force))
     SELECT user_id AS "userId", metric_no AS "metricNo",
            coalesce(sum(value) FILTER (WHERE NOT imported), 0)::text AS since,
            coalesce(-min(later) FILTER (WHERE imported), 0)::text AS above
       FROM counted GROUP BY user_id, metric_no`,
    [tenantNo, ids, metricNos],
  );
  return rows;
}
