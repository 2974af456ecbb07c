import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { RedisServer } from '../domain/administration/system.ts';
import { tenantsByShard } from '../postgres/shards.ts';
import { endpointsOf } from '../redis/endpoints.ts';
import { redisState } from '../redis/server-info.ts';
import { orNothing } from './or-nothing.ts';

/** Each Redis that holds shards, with what is on it. `isOpen`: whether this process serves a shard. Rejects if Postgres does not answer. */
export async function redisServers({
  redis,
  pool,
  isOpen,
}: {
  redis: Redis;
  pool: Pool;
  isOpen: (shard: number) => boolean;
}): Promise<RedisServer[]> {
  const tenants = await tenantsByShard(pool);
  return Promise.all(
    endpointsOf(redis).map(async ({ name, redis: server, shards }) => ({
      name,
      state: await orNothing(() => redisState(server)),
      shards: shards.length,
      shutShards: shards.filter((shard) => !isOpen(shard)).length,
      tenants: shards.reduce((sum, shard) => sum + (tenants.get(shard) ?? 0), 0),
    })),
  );
}
