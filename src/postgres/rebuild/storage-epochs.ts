import type { Pool, PoolClient } from 'pg';
import { SHARD_NUMBERS, SHARDS } from '../../redis/keys.ts';
import { OUTBOX_START } from '../../redis/outbox.ts';

/** Position up to which Postgres holds a shard's outbox, and the shard's storage epoch. */
export interface StoredCursor {
  position: string;
  /** See `src/domain/storage-epoch.ts`. */
  storageEpoch: string;
  batchProgress: string;
}

/** The cursors of all shards, ordered by number. */
export interface StoredCursors {
  /** UUID of this installation. */
  installation: string;
  cursors: StoredCursor[];
}

/** Reads all cursors in one snapshot. Creates missing ones. */
export async function readCursors(client: Pool | PoolClient): Promise<StoredCursors> {
  const { rows } = await client.query<StoredCursor & { installation: string }>(
    `SELECT installation_id AS installation, stream_id AS position, storage_epoch AS "storageEpoch",
            batch_progress AS "batchProgress"
       FROM redis_epoch, outbox_cursors WHERE shard < $1 ORDER BY shard`,
    [SHARDS],
  );
  if (rows.length === SHARDS) return { installation: rows[0]!.installation, cursors: rows };
  await client.query(
    'INSERT INTO outbox_cursors (shard, stream_id) SELECT no, $2 FROM generate_series(0, $1 - 1) AS no ON CONFLICT DO NOTHING',
    [SHARDS, OUTBOX_START],
  );
  return readCursors(client);
}

/** The storage epoch of a shard, or `''`. */
export async function readStorageEpoch(client: Pool | PoolClient, shard: number): Promise<string> {
  const { rows } = await client.query<{ storageEpoch: string }>(
    'SELECT storage_epoch AS "storageEpoch" FROM outbox_cursors WHERE shard = $1',
    [shard],
  );
  return rows[0]?.storageEpoch ?? '';
}

/**
 * Locks the cursors of some shards (by default, all) until the transaction ends. Waits for active persisters; afterwards none can store what it read
 * under an older storage epoch.
 */
export async function lockCursors(client: PoolClient, shards: readonly number[] = SHARD_NUMBERS): Promise<void> {
  await client.query('SELECT FROM outbox_cursors WHERE shard = ANY ($1) ORDER BY shard FOR UPDATE', [shards]);
}

/** Sets the storage epoch of some shards; with `from`, only if it is the current one. Returns whether all were set. */
export async function setStorageEpochs(
  client: Pool | PoolClient,
  shards: readonly number[],
  { storageEpoch, from = null }: { storageEpoch: string; from?: string | null },
): Promise<boolean> {
  const { rowCount } = await client.query(
    'UPDATE outbox_cursors SET storage_epoch = $1 WHERE shard = ANY ($2) AND storage_epoch = coalesce($3, storage_epoch)',
    [storageEpoch, shards, from],
  );
  return rowCount === shards.length;
}

/** Starts a new epoch and returns its number. All shards share one sequence. */
export async function nextEpoch(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ epoch: number }>('UPDATE redis_epoch SET epoch = epoch + 1 RETURNING epoch');
  return Number(rows[0]!.epoch);
}
