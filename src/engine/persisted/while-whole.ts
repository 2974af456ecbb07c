import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { readFence } from '../../postgres/rebuild/epoch.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { gateOf, RedisNotReady } from '../../redis/gate.ts';
import { runOfFence } from '../../redis/run.ts';

/**
 * Answers what is read of a shard for Postgres to keep. A shard that is being rebuilt, was moved away, or came back empty looks like one
 * in which nobody ever had a score; scripts are refused there, and reads are not. RedisNotReady, and what was read is worth
 * nothing, where the shard was not whole all the while.
 */
export async function whileWhole<T>(
  client: Pool | PoolClient,
  { redis, shard }: { redis: Redis; shard: number },
  read: () => Promise<T>,
): Promise<T> {
  const before = await fenceOfWhole(client, redis, shard);
  const answer = await read();
  // A rebuild takes another fence before it takes anything away, and so does whoever finds another run of Redis.
  if ((await fenceOfWhole(client, redis, shard)) !== before) throw new RedisNotReady();
  return answer;
}

/** The fence of a shard that is whole, as Postgres knows it and, where the connection is guarded, this process. */
async function fenceOfWhole(client: Pool | PoolClient, redis: Redis, shard: number): Promise<string> {
  const fence = await readFence(client, shard);
  const gate = gateOf(connectionOf(redis, shard));
  const isWhole = runOfFence(fence) !== '' && (gate === undefined || gate.fenceOf(shard) === fence);
  if (!isWhole) throw new RedisNotReady();
  return fence;
}
