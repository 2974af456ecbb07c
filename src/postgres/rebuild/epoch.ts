import type { Pool, PoolClient } from 'pg';
import { SHARDS } from '../../redis/keys.ts';
import { OUTBOX_START } from '../../redis/outbox.ts';

/** What Postgres knows of the Redis that it was last filled from. */
export interface StoredEpoch {
  /** UUID of this Laurel. */
  installation: string;
  epoch: number;
  /** By shard. */
  cursors: { position: string; fence: string; batchProgress: string }[];
}

/** Reads it in one snapshot. Cursors that never were are made first. */
export async function readEpoch(client: Pool | PoolClient): Promise<StoredEpoch> {
  const { rows } = await client.query<{
    installation: string;
    epoch: number;
    shard: number;
    position: string;
    fence: string;
    batchProgress: string;
  }>(
    `SELECT installation, epoch, shard, stream_id AS position, fence, batch_progress AS "batchProgress"
       FROM redis_epoch, outbox_cursors WHERE shard < $1 ORDER BY shard`,
    [SHARDS],
  );
  if (rows.length === SHARDS) return { installation: rows[0]!.installation, epoch: rows[0]!.epoch, cursors: rows };
  await client.query(
    'INSERT INTO outbox_cursors (shard, stream_id) SELECT no, $2 FROM generate_series(0, $1 - 1) AS no ON CONFLICT DO NOTHING',
    [SHARDS, OUTBOX_START],
  );
  return readEpoch(client);
}

/**
 * Locks all cursors until the transaction ends: waits for the persisters that are working, and from then on none stores
 * anything that it read under an older fence.
 */
export async function lockCursors(client: PoolClient): Promise<void> {
  await client.query('SELECT FROM outbox_cursors ORDER BY shard FOR UPDATE');
}

/** Sets the fence of all cursors, where it is `from` if that is given. The number of cursors set. */
export async function setFence(
  client: Pool | PoolClient,
  { fence, from = null }: { fence: string; from?: string | null },
): Promise<number> {
  const { rowCount } = await client.query(
    'UPDATE outbox_cursors SET fence = $1 WHERE shard < $2 AND fence = coalesce($3, fence)',
    [fence, SHARDS, from],
  );
  return rowCount ?? 0;
}

/** Whether every cursor has this fence. */
export async function isFence(client: Pool | PoolClient, fence: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT FROM outbox_cursors WHERE shard < $1 AND fence <> $2 LIMIT 1', [
    SHARDS,
    fence,
  ]);
  return rowCount === 0;
}

/** Begins a new epoch, and answers its number. */
export async function nextEpoch(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ epoch: number }>('UPDATE redis_epoch SET epoch = epoch + 1 RETURNING epoch');
  return rows[0]!.epoch;
}
