import type { Pool, PoolClient } from 'pg';
import { SHARDS } from '../../redis/keys.ts';

/** A shard that is to take over the tenants of another one that was split, see `outbox_cursors.split_from`. */
export interface Split {
  shard: number;
  from: number;
}

/** What is to be split still, by shard; nothing, once an installation of 8 shards was carried over. */
export async function readSplits(client: Pool | PoolClient): Promise<Split[]> {
  const { rows } = await client.query<Split>(
    'SELECT shard, split_from AS "from" FROM outbox_cursors WHERE split_from IS NOT NULL ORDER BY shard',
  );
  return rows;
}

/** The dead letters of some shards that are to be split whose bytes only Redis keeps, and the shards that they come to. */
export async function keptLetters(
  pool: Pool,
  from: readonly number[],
): Promise<{ position: string; from: number; to: number }[]> {
  const { rows } = await pool.query<{ position: string; from: number; to: number }>(
    `SELECT position, shard AS "from", tenant_no % $2 AS "to" FROM dead_letters
      WHERE in_redis AND shard = ANY ($1) AND tenant_no % $2 <> shard`,
    [from, SHARDS],
  );
  return rows;
}

/**
 * Notes that some shards have what they take over: their outboxes go on behind where those of the old ones end, so that positions
 * of a tenant only grow, and dead letters say on which shard their tenants are. To be called when the outboxes of the old ones are stored.
 */
export async function noteSplit(client: PoolClient, shards: readonly number[]): Promise<void> {
  await client.query(
    `UPDATE dead_letters SET shard = tenant_no % $2
      WHERE shard IN (SELECT split_from FROM outbox_cursors WHERE shard = ANY ($1)) AND tenant_no % $2 = ANY ($1)`,
    [shards, SHARDS],
  );
  await client.query(
    `UPDATE outbox_cursors AS split SET stream_id = old.stream_id, split_from = NULL
       FROM outbox_cursors AS old WHERE split.shard = ANY ($1) AND old.shard = split.split_from`,
    [shards],
  );
}
