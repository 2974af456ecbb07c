import type { Pool, PoolClient } from 'pg';
import { codeOf } from '../../network-errors.ts';
import { eventsAndSums } from '../partitions.ts';
import { transaction } from '../transaction.ts';

/** IDs of about `percent` of a tenant's users, from random pages. Reads that share of all tenants' users. */
export async function sampleUsers(client: PoolClient, tenantNo: number, percent: number): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM users TABLESAMPLE SYSTEM ($2) WHERE tenant_no = $1',
    [tenantNo, percent],
  );
  return rows.map(({ id }) => id);
}

/** The next users of a tenant after an ID, in the order of IDs, with their stored packed states. */
export async function usersAfter(
  client: Pool | PoolClient,
  tenantNo: number,
  after: string,
  limit: number,
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
  selection: { tenantNo: number; ids: readonly string[]; metricNo: number; attributes: object },
): Promise<CountedUser[]> {
  const { tenantNo, ids, metricNo, attributes } = selection;
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

/** Users, or events, that are looked at. */
const EXAMINED = 2_000;
const TIME_MS = 500;

/** A value of an attribute, and how many of those that were looked at have it. */
export interface AttributeValueCount {
  value: string;
  count: number;
}

const SOURCES = {
  // A fair sample: the index has the users in a random order.
  user: `SELECT attributes FROM users WHERE tenant_no = $1 ORDER BY hashtextextended(id, 0), id LIMIT ${EXAMINED}`,
  // The latest events of all tenants, so that a tenant with few events costs no more than others.
  event: `SELECT attributes FROM (SELECT tenant_no, attributes FROM events ORDER BY id DESC LIMIT ${EXAMINED}) AS latest
           WHERE tenant_no = $1`,
} as const;

/** The most frequent values of an attribute in a sample; none if Postgres takes too long. */
export async function attributeValues(
  pool: Pool,
  tenantNo: number,
  attribute: { no: number; key: string; type: keyof typeof SOURCES },
  limit: number,
): Promise<AttributeValueCount[]> {
  const values = await within(pool, TIME_MS, async (client) => {
    const { rows } = await client.query<AttributeValueCount>(
      `SELECT attributes ->> $2::text AS value, count(*)::int AS count FROM (${SOURCES[attribute.type]}) AS examined
        WHERE attributes ? $2::text GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT $3`,
      // Users have attributes by number, events by key.
      [tenantNo, attribute.type === 'user' ? String(attribute.no) : attribute.key, limit],
    );
    return rows;
  });
  return values ?? [];
}

export interface DueUser {
  tenantNo: number;
  /** Version of the tenant's catalog at the time of the read. */
  version: number;
  userId: string;
  dueMs: number;
}

/**
 * Users whose years must be counted up to a time (epoch ms), earliest first, except those of archived tenants. A user whose
 * last state could not be stored is skipped until it is, because the row is outdated. Reads an index.
 * @param except numbers of tenants to skip
 */
export async function dueUsers(
  pool: Pool,
  upToMs: number,
  except: readonly number[],
  limit: number,
): Promise<DueUser[]> {
  const { rows } = await pool.query<DueUser>({
    name: 'due_users',
    text: `SELECT users.tenant_no AS "tenantNo", tenants.catalog_version AS version, users.id AS "userId",
            anniversary_ms AS "dueMs"
       FROM users
       JOIN tenants ON tenants.no = users.tenant_no AND tenants.status = 'active'
       JOIN organisation ON multi_tenancy = (users.tenant_no > 0)
      WHERE anniversary_ms <= $1 AND owed_position IS NULL AND users.tenant_no <> ALL ($2::int[])
      ORDER BY anniversary_ms, users.tenant_no, users.id LIMIT $3`,
    values: [upToMs, except, limit],
  });
  return rows;
}
