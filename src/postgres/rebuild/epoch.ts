import type { Pool, PoolClient } from 'pg';
import { SHARD_NUMBERS, SHARDS } from '../../redis/keys.ts';
import { OUTBOX_START } from '../../redis/outbox.ts';

/** How far Postgres is with a shard, and of which Redis. */
export interface StoredCursor {
  position: string;
  /** See `outbox_cursors.fence`. */
  fence: string;
  batchProgress: string;
}

/** What Postgres knows of the Redis that it was last filled from. */
export interface StoredEpoch {
  /** UUID of this Laurel. */
  installation: string;
  /** By shard. */
  cursors: StoredCursor[];
}

/** Reads it in one snapshot. Cursors that never were are made first. */
export async function readEpoch(client: Pool | PoolClient): Promise<StoredEpoch> {
  const { rows } = await client.query<StoredCursor & { installation: string }>(
    `SELECT installation_id AS installation, stream_id AS position, fence, batch_progress AS "batchProgress"
       FROM redis_epoch, outbox_cursors WHERE shard < $1 ORDER BY shard`,
    [SHARDS],
  );
  if (rows.length === SHARDS) return { installation: rows[0]!.installation, cursors: rows };
  await client.query(
    'INSERT INTO outbox_cursors (shard, stream_id) SELECT no, $2 FROM generate_series(0, $1 - 1) AS no ON CONFLICT DO NOTHING',
    [SHARDS, OUTBOX_START],
  );
  return readEpoch(client);
}

/** The fence of a shard's cursor; '' where there is none. */
export async function readFence(client: Pool | PoolClient, shard: number): Promise<string> {
  const { rows } = await client.query<{ fence: string }>('SELECT fence FROM outbox_cursors WHERE shard = $1', [shard]);
  return rows[0]?.fence ?? '';
}

/**
 * Locks the cursors of some shards, or of all, until the transaction ends: waits for the persisters that are working, and from then on none
 * stores anything that it read under an older fence.
 */
export async function lockCursors(client: PoolClient, shards: readonly number[] = SHARD_NUMBERS): Promise<void> {
  await client.query('SELECT FROM outbox_cursors WHERE shard = ANY ($1) ORDER BY shard FOR UPDATE', [shards]);
}

/** Sets the fences of some shards' cursors, of those where it is `from` if that is given. Whether all were set. */
export async function setFences(
  client: Pool | PoolClient,
  shards: readonly number[],
  { fence, from = null }: { fence: string; from?: string | null },
): Promise<boolean> {
  const { rowCount } = await client.query(
    'UPDATE outbox_cursors SET fence = $1 WHERE shard = ANY ($2) AND fence = coalesce($3, fence)',
    [fence, shards, from],
  );
  return rowCount === shards.length;
}

/** Begins a new epoch, and answers its number. The epochs of all shards are counted together. */
export async function nextEpoch(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ epoch: number }>('UPDATE redis_epoch SET epoch = epoch + 1 RETURNING epoch');
  return Number(rows[0]!.epoch);
}
