import type { Redis } from 'ioredis';
import { type Endpoint, endpointsOf } from '../../src/redis/endpoints.ts';

/** The keys of all servers that match a glob. */
export const keysOf = async (redis: Redis, pattern: string): Promise<string[]> =>
  (await Promise.all(endpointsOf(redis).map((endpoint) => endpoint.redis.keys(pattern)))).flat();

/** The server of a shard, with all its shards. */
export const serverOf = (redis: Redis, shard: number): Endpoint =>
  endpointsOf(redis).find(({ shards }) => shards.includes(shard))!;

/** Empties all servers. */
export const emptyRedis = async (redis: Redis): Promise<void> =>
  void (await Promise.all(endpointsOf(redis).map((endpoint) => endpoint.redis.flushall())));
