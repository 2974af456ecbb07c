import type { Pool } from 'pg';
import { SHARDS } from '../../redis/keys.ts';

/** Number of tenants per shard, including archived ones; empty shards are omitted. */
export async function tenantsByShard(pool: Pool): Promise<Map<number, number>> {
  const { rows } = await pool.query<{ shard: number; tenants: number }>(
    'SELECT no % $1 AS shard, count(*)::int AS tenants FROM tenants GROUP BY 1',
    [SHARDS],
  );
  return new Map(rows.map(({ shard, tenants }) => [shard, tenants]));
}
