import type { Pool, PoolClient } from 'pg';

export interface CountedUser {
  id: string;
  /** The packed state that belongs to the count: both are of one snapshot. */
  state: Buffer;
  /** Decimal text: sum of the values of the matching events. */
  count: string;
}

/** Each of some users with the sum of their events of a metric that have all the attributes (by key). */
export async function countedUsers(
  client: Pool | PoolClient,
  { tenantNo, ids, metricNo, attributes }: { tenantNo: number; ids: string[]; metricNo: number; attributes: object },
): Promise<CountedUser[]> {
  const { rows } = await client.query<CountedUser>(
    `SELECT users.id, users.state, coalesce(sum(events.value), 0)::text AS count
       FROM users LEFT JOIN events
         ON events.tenant_no = $1 AND events.user_id = users.id AND events.metric_no = $3 AND events.attributes @> $4
      WHERE users.tenant_no = $1 AND users.id = ANY($2)
      GROUP BY users.tenant_no, users.id`,
    [tenantNo, ids, metricNo, JSON.stringify(attributes)],
  );
  return rows;
}
