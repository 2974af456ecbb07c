import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { readStorageEpoch } from '../../postgres/shards.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { gateOf, RedisNotReady } from '../../redis/gate.ts';
import { redisProcessIdOf } from '../../domain/storage-epoch.ts';

/**
 * Reads something of a shard that Postgres will keep. A shard that is being rebuilt, was moved away or came back empty looks as if
 * nobody ever had a score; functions are refused there, but reads are not. Throws RedisNotReady if the shard was not complete all
 * the while.
 */
export async function whileWhole<T>(
  client: Pool | PoolClient,
  { redis, shard }: { redis: Redis; shard: number },
  read: () => Promise<T>,
): Promise<T> {
  const before = await epochOfComplete(client, redis, shard);
  const answer = await read();
  // A rebuild sets another storage epoch before it removes anything, as does an inspection that accepts another Redis process.
  if ((await epochOfComplete(client, redis, shard)) !== before) throw new RedisNotReady();
  return answer;
}

/** The storage epoch of a complete shard, as Postgres has it; a guarded connection must have the same. */
async function epochOfComplete(client: Pool | PoolClient, redis: Redis, shard: number): Promise<string> {
  const storageEpoch = await readStorageEpoch(client, shard);
  const gate = gateOf(connectionOf(redis, shard));
  const isWhole =
    redisProcessIdOf(storageEpoch) !== '' && (gate === undefined || gate.storageEpochOf(shard) === storageEpoch);
  if (!isWhole) throw new RedisNotReady();
  return storageEpoch;
}
