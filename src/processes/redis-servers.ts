import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { RedisServer, ShardMove } from '../domain/system.ts';
import { isOnlyAddress, readPlacement, type PlacedShard } from '../postgres/shards/placement.ts';
import { tenantsByShard } from '../postgres/shards/tenants-by-shard.ts';
import { endpointsOf, type Endpoint } from '../redis/endpoints.ts';
import { redisState } from '../redis/server-info.ts';
import { orNothing } from './or-nothing.ts';

/** Whether this process serves a shard. */
type IsOpen = (shard: number) => boolean;

/**
 * Each Redis that REDIS_URL names or that Postgres places shards on, with what is on it, and the shards that are being moved or have
 * left keys behind. `shutShards` is as this process finds them. Rejects where Postgres does not answer.
 */
export async function redisServers({
  redis,
  pool,
  isOpen,
}: {
  redis: Redis;
  pool: Pool;
  isOpen: IsOpen;
}): Promise<{ redisServers: RedisServer[]; shardMoves: ShardMove[] }> {
  const endpoints = endpointsOf(redis);
  const [stored, tenants] = await Promise.all([readPlacement(pool), tenantsByShard(pool)]);
  const placed = underOwnName(stored, endpoints);
  const unnamed = new Set(placed.map(({ endpoint }) => endpoint));
  for (const { name } of endpoints) unnamed.delete(name);
  const serverOf = (name: string, state: RedisServer['state'], named: boolean): RedisServer => {
    const shards = placed.filter(({ endpoint }) => endpoint === name).map(({ shard }) => shard);
    return {
      name,
      named,
      state,
      shards: shards.length,
      shutShards: shards.filter((shard) => !isOpen(shard)).length,
      tenants: shards.reduce((sum, shard) => sum + (tenants.get(shard) ?? 0), 0),
    };
  };
  const states = await Promise.all(endpoints.map((each) => orNothing(() => redisState(each.redis))));
  return {
    redisServers: [
      ...endpoints.map(({ name }, index) => serverOf(name, states[index]!, true)),
      ...[...unnamed].map((name) => serverOf(name, null, false)),
    ],
    shardMoves: placed.flatMap(moveOf),
  };
}

/** The only Redis there ever was is the one that REDIS_URL names, whatever it was called when its shards were placed. */
function underOwnName(placed: readonly PlacedShard[], endpoints: readonly Endpoint[]): readonly PlacedShard[] {
  if (endpoints.length > 1 || !isOnlyAddress(placed)) return placed;
  return placed.map((each) => ({ ...each, endpoint: endpoints[0]!.name }));
}

function moveOf({ shard, endpoint, movingTo, leftOn }: PlacedShard): ShardMove[] {
  return [
    ...(leftOn === null ? [] : [{ shard, from: leftOn, to: endpoint, stage: 'clearing' as const }]),
    ...(movingTo === null ? [] : [{ shard, from: endpoint, to: movingTo, stage: 'moving' as const }]),
  ];
}
