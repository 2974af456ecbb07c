import type { Pool, PoolClient } from 'pg';
import { codeOf } from '../../network-errors.ts';
import { eventsAndSums } from '../partitions/event-retention.ts';
import { transaction } from '../transaction.ts';

/** IDs of about `percent` of a tenant's users, from random pages. Reads that share of all tenants' users. */
export async function sampleUsers(
  client: PoolClient,
  { tenantNo, percent }: { tenantNo: number; percent: number },
): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM users TABLESAMPLE SYSTEM ($2) WHERE tenant_no = $1',
    [tenantNo, percent],
  );
  return rows.map(({ id }) => id);
}

/** The next users of a tenant after an ID, in the order of IDs, with their stored packed states. */
export async function usersAfter(
  client: Pool | PoolClient,
  { tenantNo, after, limit }: { tenantNo: number; after: string; limit: number },
): Promise<{ id: string; state: Buffer }[]> {
  const { rows } = await client.query<{ id: string; state: Buffer }>(
    'SELECT id, state FROM users WHERE tenant_no = $1 AND id > $2 ORDER BY id LIMIT $3',
    [tenantNo, after, limit],
  );
  return rows;
}

export async function countUsers(client: Pool | PoolClient, tenantNo: number): Promise<number> {
  const { rows } = await client.query<{ users: number }>(
    'SELECT count(*)::float8 AS users FROM users WHERE tenant_no = $1',
    [tenantNo],
  );
  return rows[0]!.users;
}

interface CountedUser {
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

const CANCELLED = '57014';

/** Reads with a limit of `timeoutMs` per statement; `null` if Postgres cancelled one. */
export async function within<T>(
  pool: Pool,
  timeoutMs: number,
  work: (client: PoolClient) => Promise<T>,
): Promise<T | null> {
  try {
    return await transaction(pool, async (client) => {
      await client.query(`SET LOCAL statement_timeout = ${timeoutMs}`);
      return work(client);
    });
  } catch (error) {
    if (error instanceof Error && codeOf(error) === CANCELLED) return null;
    throw error;
  }
}
