import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { SystemState } from '../domain/system.ts';
import { PACKAGE_ROOT } from '../package-root.ts';
import { postgresState } from '../postgres/server-state.ts';
import { backlog } from '../redis/outbox.ts';
import { redisState } from '../redis/server-state.ts';
import { shardsInUse } from '../redis/shards-in-use.ts';
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
  const { version } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as { version: string };
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
      version,
      node: process.versions.node,
      redis: ofRedis,
      postgres: ofPostgres,
      shards,
      redisServers: servers?.redisServers ?? null,
      shardMoves: servers?.shardMoves ?? null,
    };
  };
}
