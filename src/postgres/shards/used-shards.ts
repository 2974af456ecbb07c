import type { Pool } from 'pg';
import { SHARDS } from '../../redis/keys.ts';

/** The shards that hold a tenant, or held one that is archived, in their order. No tenant is ever removed, so they only become more. */
export async function usedShards(pool: Pool): Promise<number[]> {
  const { rows } = await pool.query<{ shard: number }>('SELECT DISTINCT no % $1 AS shard FROM tenants ORDER BY shard', [
    SHARDS,
  ]);
  return rows.map(({ shard }) => shard);
}
