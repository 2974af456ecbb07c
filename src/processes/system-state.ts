import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { SystemState } from '../domain/administration/system.ts';
import { postgresState } from '../postgres/server-state.ts';
import { backlog } from '../redis/outbox.ts';
import { redisState } from '../redis/server-info.ts';
import { shardsInUse } from '../redis/endpoints.ts';
import { version } from '../version.ts';
import { orNothing } from './or-nothing.ts';
import { redisServers } from './redis-servers.ts';

/**
 * What the installation runs on; null what a server that does not answer would say. `isOpen`: whether this process serves a shard.
 * Never rejects.
 */
export function systemState(options: {
  redis: Redis;
  pool: Pool;
  isOpen: (shard: number) => boolean;
}): () => Promise<SystemState> {
  const { redis, pool } = options;
  const running = version();
  return async () => {
    const [ofRedis, ofPostgres, shards, servers] = await Promise.all([
      orNothing(() => redisState(redis)),
      orNothing(() => postgresState(pool)),
      orNothing(() =>
        Promise.all(shardsInUse(redis).map(async (shard) => ({ shard, outboxEntries: await backlog(redis, shard) }))),
      ),
      orNothing(() => redisServers(options)),
    ]);
    return {
      version: running,
      node: process.versions.node,
      redis: ofRedis,
      postgres: ofPostgres,
      shards,
      redisServers: servers,
    };
  };
}
