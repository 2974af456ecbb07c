import type { Pool } from 'pg';
import { SHARDS } from '../../redis/keys.ts';

/** Shards that hold tenants, including archived ones, in order. Their number never decreases, because no tenant is ever deleted. */
export async function usedShards(pool: Pool): Promise<number[]> {
  const { rows } = await pool.query<{ shard: number }>('SELECT DISTINCT no % $1 AS shard FROM tenants ORDER BY shard', [
    SHARDS,
  ]);
  return rows.map(({ shard }) => shard);
}
