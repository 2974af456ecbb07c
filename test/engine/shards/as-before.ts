import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import {
  batchesKey,
  batchProgressKey,
  keptEntriesKey,
  markKey,
  outboxKey,
  shardOf,
  shardOfKey,
  SHARD_NUMBERS,
} from '../../../src/redis/keys.ts';

/** How many shards there were, and the last migration of that version. */
const OLD_SHARDS = 8;

type Entry = [id: Buffer, fields: Buffer[]];

/**
 * Lays out Redis and Postgres as the version with 8 shards had them, with all that is in them: tenants 3 and 11 share the keys, the outbox,
 * the batches and the cursor of shard 3. To be called while nothing may be rebuilt. How a batch that is partly processed
 * says so is kept. Answers what processes of that version believe of each shard.
 */
export async function asBefore({
  redis,
  pool,
}: {
  redis: Redis;
  pool: Pool;
}): Promise<{ mark: string; fence: string }> {
  // From here on no process of now can look at Postgres, until it is migrated.
  await pool.query('ALTER TABLE redis_epoch RENAME COLUMN installation_id TO installation');
  const { rows } = await pool.query<{ installation: string; epoch: string }>(
    'SELECT installation, epoch FROM redis_epoch',
  );
  const [{ installation, epoch } = { installation: '', epoch: '' }] = rows;
  const run = /^run_id:(\w+)/m.exec(await redis.info('server'))![1]!;
  const replication = /^master_replid:(\w+)/m.exec(await redis.info('replication'))![1]!;
  const fence = `${epoch}/${run}.${replication}`;
  for (const shard of SHARD_NUMBERS.slice(0, OLD_SHARDS)) {
    await join(redis, shard);
    await redis.set(markKey(shard), `${installation}:${epoch}`);
  }
  await renameKeys(redis);
  await pool.query('BEGIN');
  await pool.query(`
    UPDATE outbox_cursors AS old SET stream_id = (
      SELECT stream_id FROM outbox_cursors WHERE shard % 8 = old.shard
       ORDER BY split_part(stream_id, '-', 1)::bigint DESC, split_part(stream_id, '-', 2)::bigint DESC LIMIT 1)
     WHERE shard < 8`);
  await pool.query('UPDATE dead_letters SET shard = shard % 8');
  await pool.query('DELETE FROM outbox_cursors WHERE shard >= 8');
  await pool.query('DELETE FROM shards WHERE shard >= 8');
  await pool.query('UPDATE outbox_cursors SET fence = $1', [fence]);
  await pool.query('ALTER TABLE outbox_cursors DROP COLUMN split_from');
  await pool.query('DELETE FROM laurel_migrations WHERE no = 54');
  await pool.query('COMMIT');
  return { mark: `${installation}:${epoch}`, fence };
}

/** One outbox and one queue of batches for what is on all shards with the same remainder; IDs anew, in the order of before. */
async function join(redis: Redis, shard: number): Promise<void> {
  const family = SHARD_NUMBERS.filter((each) => each % OLD_SHARDS === shard);
  for (const keyOf of [outboxKey, batchesKey]) {
    const entries: (Entry & { 2?: number })[] = [];
    for (const each of family) {
      for (const [id, fields] of await redis.xrangeBuffer(keyOf(each), '-', '+')) entries.push([id, fields]);
      if (each !== shard) await redis.del(keyOf(each));
    }
    entries.sort(([a], [b]) => Number(String(a).split('-')[0]) - Number(String(b).split('-')[0]));
    await redis.xtrim(keyOf(shard), 'MAXLEN', 0);
    for (const [id, fields] of entries) {
      const added = await redis.xaddBuffer(keyOf(shard), '*', ...fields);
      for (const each of family) {
        const [batch, events] = ((await redis.get(batchProgressKey(each))) ?? '').split(':');
        if (keyOf === batchesKey && batch === String(id))
          await redis.set(batchProgressKey(shard), `${String(added)}:${events}`);
      }
    }
  }
  for (const each of family) {
    if (each === shard) continue;
    const kept = await redis.hgetallBuffer(keptEntriesKey(each));
    for (const [position, packed] of Object.entries(kept)) await redis.hset(keptEntriesKey(shard), position, packed);
  }
}

/** A tenant's keys under its old shard; what else the other shards have goes. */
async function renameKeys(redis: Redis): Promise<void> {
  for (const key of await redis.keys('{s*}:*')) {
    const shard = shardOfKey(key);
    if (shard < OLD_SHARDS) continue;
    const [, tenantNo] = /^\{s\d+\}:(\d+):/.exec(key) ?? [];
    if (tenantNo === undefined) await redis.del(key);
    else await redis.rename(key, key.replace(`{s${shardOf(Number(tenantNo))}}`, `{s${shard % OLD_SHARDS}}`));
  }
}
