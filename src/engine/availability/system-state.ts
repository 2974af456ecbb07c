import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { RedisServer, ShownRebuild, SystemState } from '../../domain/administration/system.ts';
import { postgresState } from '../../postgres/server-state.ts';
import { runningRebuilds, tenantsByShard } from '../../postgres/shards.ts';
import { endpointsOf, shardsInUse } from '../../redis/endpoints.ts';
import { backlog } from '../../redis/outbox.ts';
import { redisState } from '../../redis/server-info.ts';
import { inTime } from '../../pacing/time-limit.ts';
import { version } from '../../version.ts';

/** The installation's servers; null for values of one that does not answer. Never rejects. */
export function systemState(options: {
  redis: Redis;
  pool: Pool;
  isOpen: (shard: number) => boolean;
}): () => Promise<SystemState> {
  const { redis, pool } = options;
  const running = version();
  return async () => {
    const [ofRedis, ofPostgres, shards, servers, rebuilds] = await Promise.all([
      orNothing(() => redisState(redis)),
      orNothing(() => postgresState(pool)),
      orNothing(() =>
        Promise.all(shardsInUse(redis).map(async (shard) => ({ shard, outboxEntries: await backlog(redis, shard) }))),
      ),
      orNothing(() => redisServers(options)),
      orNothing(() => rebuildsOf(pool)),
    ]);
    return {
      version: running,
      node: process.versions.node,
      redis: ofRedis,
      postgres: ofPostgres,
      shards,
      redisServers: servers,
      rebuilds,
    };
  };
}

/** Each Redis with shards, and its data. Rejects if Postgres does not answer. */
async function redisServers({
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

async function rebuildsOf(pool: Pool): Promise<ShownRebuild[]> {
  return (await runningRebuilds(pool)).map(({ shards, step, done, total, began, seen }) => ({
    shards,
    step,
    progress: { done, total },
    began: began.toISOString(),
    reported: seen.toISOString(),
  }));
}

/** Redis or Postgres that does not answer within this time is reported as down; ms. */
const PATIENCE_MS = 2_000;

/** The measured value; null if it cannot be measured now. */
export async function orNothing<T>(measure: () => Promise<T>): Promise<T | null> {
  try {
    return await inTime(measure(), PATIENCE_MS, null);
  } catch {
    return null;
  }
}
