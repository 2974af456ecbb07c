import type { Pool, PoolClient } from 'pg';

/** Location of a shard. */
export interface PlacedShard {
  shard: number;
  /** Name of its Redis server. */
  endpoint: string;
  /** The Redis server to which it is moving; `null` if it is not moving. Also set after an interrupted move. */
  movingTo: string | null;
  /** A Redis server that may still hold keys from before a move, or `null`. */
  leftOn: string | null;
  /** Whether it was moved there: then the name is permanent, not an address that may change. */
  chosen: boolean;
}

/** Locations of all shards, ordered by number. */
export async function readPlacement(client: Pool | PoolClient): Promise<PlacedShard[]> {
  const { rows } = await client.query<PlacedShard>(
    'SELECT shard, endpoint, moving_to AS "movingTo", left_on AS "leftOn", chosen FROM shards ORDER BY shard',
  );
  return rows;
}

/** Whether all shards are on the only Redis server that ever existed. Its name is then its address, which may have changed since. */
export const isOnlyAddress = (placed: readonly Pick<PlacedShard, 'endpoint' | 'chosen'>[]): boolean =>
  new Set(placed.map(({ endpoint }) => endpoint)).size === 1 && !placed.some(({ chosen }) => chosen);

/** Those shards that are not on the named Redis server, with their locations. */
export const placedElsewhere = (
  placed: readonly PlacedShard[],
  { shards, name }: { shards: readonly number[]; name: string },
): PlacedShard[] =>
  isOnlyAddress(placed) ? [] : placed.filter(({ shard, endpoint }) => shards.includes(shard) && endpoint !== name);

/** Records the destination of moving shards; `null` ends the move. */
export async function noteMoving(client: PoolClient, shards: readonly number[], to: string | null): Promise<void> {
  await client.query('UPDATE shards SET moving_to = $2 WHERE shard = ANY ($1) AND moving_to IS DISTINCT FROM $2', [
    shards,
    to,
  ]);
}

/** Places a shard on another Redis server and records that the previous one still holds its keys. */
export async function placeShard(client: PoolClient, shard: number, to: string): Promise<void> {
  await client.query(
    'UPDATE shards SET left_on = endpoint, endpoint = $2, moving_to = NULL, chosen = true WHERE shard = $1',
    [shard, to],
  );
}

/** Records that only its own Redis server holds keys of a shard. */
export async function noteLeftNowhere(pool: Pool, shard: number): Promise<void> {
  await pool.query('UPDATE shards SET left_on = NULL WHERE shard = $1', [shard]);
}
