import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { placeShards } from '../../postgres/shards/place-shards.ts';
import { parseRedisEntries } from '../../redis-entries.ts';
import { createRedises } from '../../redis/client.ts';
import { StartError } from '../../start-error.ts';

/**
 * Connects to the Redis, or the several, of a REDIS_URL, each with the shards that Postgres places on it (`connectionOf`). Throws
 * StartError where that does not fit.
 */
export async function connectRedis(redisUrl: string, pool: Pool): Promise<Redis> {
  const entries = parseRedisEntries(redisUrl);
  if (typeof entries === 'string') throw new StartError(`REDIS_URL ${entries}`);
  const placed = await placeShards(
    pool,
    entries.map(({ name }) => name),
  );
  return createRedises(entries.map((entry, index) => ({ ...entry, shards: placed[index]! })));
}
