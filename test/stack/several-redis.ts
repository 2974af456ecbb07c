import type { Redis } from 'ioredis';
import { endpointsOf, type Endpoint } from '../../src/redis/endpoints.ts';
import type { Part } from './left-behind.ts';
import { freshRedis } from './fresh-redis.ts';

/**
 * How many Redis a whole Laurel of the tests has, where its test does not say so: `TEST_REDIS=3 npm test` tries on three what one
 * is tried on otherwise. Not those whose test kills and pauses Redis of its own, and no parts of Laurel over one connection.
 */
const COUNT = Number(process.env['TEST_REDIS'] ?? 1);

/** Some Redis, without `count` as many as the run is to be tried with; each has a name of its own where there are several. */
export async function severalRedis(durable: boolean, count = COUNT): Promise<Part> {
  if (count === 1) return freshRedis(durable);
  const parts = await Promise.all(Array.from({ length: count }, () => freshRedis(durable)));
  return {
    url: parts.map(({ url }, no) => `redis-${no + 1}=${url}`).join(','),
    close: async () => void (await Promise.all(parts.map((part) => part.close()))),
  };
}

/** The keys of all servers that match a glob. */
export const keysOf = async (redis: Redis, pattern: string): Promise<string[]> =>
  (await Promise.all(endpointsOf(redis).map((endpoint) => endpoint.redis.keys(pattern)))).flat();

/** The server that a shard is on, with all shards that are. */
export const serverOf = (redis: Redis, shard: number): Endpoint =>
  endpointsOf(redis).find(({ shards }) => shards.includes(shard))!;

/** Empties all servers. */
export const emptyRedis = async (redis: Redis): Promise<void> =>
  void (await Promise.all(endpointsOf(redis).map((endpoint) => endpoint.redis.flushall())));
