import type { Pool, PoolClient } from 'pg';

/** Where a shard is. */
export interface PlacedShard {
  shard: number;
  /** The name of its Redis. */
  endpoint: string;
  /** The Redis that it is being moved to, unless that was interrupted; null: it is not moved. */
  movingTo: string | null;
  /** A Redis that may still hold keys of it, from before it was moved; null: none. */
  leftOn: string | null;
  /** Whether it was moved to its Redis: the name is more than an address that may change. */
  chosen: boolean;
}

/** Where all shards are, by their numbers. */
export async function readPlacement(client: Pool | PoolClient): Promise<PlacedShard[]> {
  const { rows } = await client.query<PlacedShard>(
    'SELECT shard, endpoint, moving_to AS "movingTo", left_on AS "leftOn", chosen FROM shards ORDER BY shard',
  );
  return rows;
}

/**
 * Whether all shards are on the only Redis there ever was: then its name is its address, which may have changed since some process
 * was started.
 */
export const isOnlyAddress = (placed: readonly Pick<PlacedShard, 'endpoint' | 'chosen'>[]): boolean =>
  new Set(placed.map(({ endpoint }) => endpoint)).size === 1 && !placed.some(({ chosen }) => chosen);

/** Of some shards those that are not on the Redis of a name, with where they are. */
export const placedElsewhere = (
  placed: readonly PlacedShard[],
  { shards, name }: { shards: readonly number[]; name: string },
): PlacedShard[] =>
  isOnlyAddress(placed) ? [] : placed.filter(({ shard, endpoint }) => shards.includes(shard) && endpoint !== name);

/** Notes where some shards are being moved to; null: they are not. */
export async function noteMoving(client: PoolClient, shards: readonly number[], to: string | null): Promise<void> {
  await client.query('UPDATE shards SET moving_to = $2 WHERE shard = ANY ($1) AND moving_to IS DISTINCT FROM $2', [
    shards,
    to,
  ]);
}

/** Places a shard on another Redis; the one that it was on still holds its keys. */
export async function placeShard(client: PoolClient, shard: number, to: string): Promise<void> {
  await client.query(
    'UPDATE shards SET left_on = endpoint, endpoint = $2, moving_to = NULL, chosen = true WHERE shard = $1',
    [shard, to],
  );
}

/** Notes that no Redis but its own holds keys of a shard. */
export async function noteLeftNowhere(pool: Pool, shard: number): Promise<void> {
  await pool.query('UPDATE shards SET left_on = NULL WHERE shard = $1', [shard]);
}
