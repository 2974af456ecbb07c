import type { Pool } from 'pg';
import { SHARDS } from '../../redis/keys.ts';

/** How many tenants each shard holds, archived ones included; a shard without one is left out. */
export async function tenantsByShard(pool: Pool): Promise<Map<number, number>> {
  const { rows } = await pool.query<{ shard: number; tenants: number }>(
    'SELECT no % $1 AS shard, count(*)::int AS tenants FROM tenants GROUP BY 1',
    [SHARDS],
  );
  return new Map(rows.map(({ shard, tenants }) => [shard, tenants]));
}
