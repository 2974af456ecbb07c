import type { Pool, PoolClient } from 'pg';
import { eventsAndSums } from './partitions/dropped-days.ts';

export interface CountedUser {
  id: string;
  /** The packed state, from the same snapshot as the count. */
  state: Buffer;
  /** Decimal text: sum of the matching events' values. */
  count: string;
}

/** Some users, each with the sum of their events of a metric that have all the attributes (by key). */
export async function countedUsers(
  client: Pool | PoolClient,
  { tenantNo, ids, metricNo, attributes }: { tenantNo: number; ids: string[]; metricNo: number; attributes: object },
): Promise<CountedUser[]> {
  const { rows } = await client.query<CountedUser>(
    `SELECT users.id, users.state, coalesce(sum(kept.value), 0)::text AS count
       FROM users LEFT JOIN LATERAL ${eventsAndSums({ user: 'users.id', where: 'metric_no = $3 AND attributes @> $4', byAttributes: true })} AS kept ON true
      WHERE users.tenant_no = $1 AND users.id = ANY($2)
      GROUP BY users.tenant_no, users.id`,
    [tenantNo, ids, metricNo, JSON.stringify(attributes)],
  );
  return rows;
}
