import type { Pool } from 'pg';
import { SHARDS } from '../../redis/keys.ts';

/** The numbers of the tenants that live on some shards, of those that were archived as well. */
export async function tenantsOfShards(pool: Pool, shards: readonly number[]): Promise<number[]> {
  const { rows } = await pool.query<{ no: number }>('SELECT no FROM tenants WHERE no % $1 = ANY ($2) ORDER BY no', [
    SHARDS,
    shards,
  ]);
  return rows.map(({ no }) => no);
}
