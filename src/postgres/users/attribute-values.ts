import type { Pool } from 'pg';
import { within } from './selections.ts';

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
  {
    tenantNo,
    attribute,
    limit,
  }: { tenantNo: number; attribute: { no: number; key: string; type: keyof typeof SOURCES }; limit: number },
): Promise<AttributeValueCount[]> {
  const found = await within(pool, TIME_MS, async (client) => {
    const { rows } = await client.query<AttributeValueCount>(
      `SELECT attributes ->> $2::text AS value, count(*)::int AS count FROM (${SOURCES[attribute.type]}) AS examined
        WHERE attributes ? $2::text GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT $3`,
      // Users have attributes by number, events by key.
      [tenantNo, attribute.type === 'user' ? String(attribute.no) : attribute.key, limit],
    );
    return rows;
  });
  return found ?? [];
}
