import type { Redis } from 'ioredis';
import { ClusterRedis, type Endpoint, type OnPlaced, type OnServer } from './cluster.ts';
import { isShardKey, SHARD_NUMBERS, shardOfKey } from './keys.ts';

export type { Endpoint } from './cluster.ts';

const names = new WeakMap<Redis, string>();

export const nameRedis = (redis: Redis, name: string): void => void names.set(redis, name);

/** Connections to a node of a cluster, and the cluster. */
const clusters = new WeakMap<Redis, ClusterRedis>();

export const noteCluster = (redis: Redis, cluster: ClusterRedis): void => void clusters.set(redis, cluster);

/** Whether a connection leads to a cluster or one of its nodes, so that a command may touch only one shard. */
export const isOfCluster = (redis: Redis): boolean => redis instanceof ClusterRedis || clusters.has(redis);

/** Further connections to a server, and the connection that they were made from. */
const roots = new WeakMap<Redis, Redis>();

export const noteRoot = (redis: Redis, root: Redis): void => void roots.set(redis, root);

/** The connection to all servers, given that or another one to one of them. */
export function rootOf(redis: Redis): Redis {
  const root = roots.get(redis) ?? redis;
  return clusters.get(root) ?? root;
}

/** Reads and applies the cluster's current assignment of shards. Does nothing without a cluster. */
export const followCluster = async (redis: Redis): Promise<void> => clusters.get(redis)?.refresh();

/** The connection to the server that holds a shard. Returns `redis` itself if there is only one server. */
export const connectionOf = (redis: Redis, shard: number): Redis =>
  redis instanceof ClusterRedis ? redis.of(shard) : redis;

export const endpointsOf = (redis: Redis): readonly Endpoint[] =>
  redis instanceof ClusterRedis ? redis.endpoints : [{ name: names.get(redis) ?? '', redis, shards: SHARD_NUMBERS }];

/** See `OnServer`. Returns a function that removes the listener. */
export function onServer(redis: Redis, listener: OnServer): () => void {
  if (redis instanceof ClusterRedis) return redis.onServer(listener);
  // Each listener has its own signal: a shared one would keep all of them in memory.
  listener(endpointsOf(redis)[0]!, new AbortController().signal);
  return () => undefined;
}

/** See `OnPlaced`. Returns a function that removes the listener. */
export const onPlaced = (redis: Redis, listener: OnPlaced): (() => void) =>
  redis instanceof ClusterRedis ? redis.onPlaced(listener) : () => undefined;

export function byServer(redis: Redis, shards: readonly number[]): (Endpoint & { shards: number[] })[] {
  const groups = endpointsOf(redis).map((endpoint) => ({
    name: endpoint.name,
    redis: endpoint.redis,
    shards: shards.filter((shard) => endpoint.shards.includes(shard)),
  }));
  return groups.filter((group) => group.shards.length > 0);
}

/** Groups shards so that one command may touch a group: all on a single Redis, each by itself in a cluster. */
export const byCommand = (redis: Redis, shards: readonly number[]): (readonly number[])[] =>
  isOfCluster(redis) ? shards.map((shard) => [shard]) : shards.length === 0 ? [] : [shards];

/**
 * One page of the keys that match a glob pattern, over all servers in turn, and the next cursor; '0' means start and end.
 * Excludes keys of shards that another server holds. Skips servers without any of `shards`. A shard that is moved to another server
 * meanwhile may be missed. Throws errors of Redis.
 */
export async function scanServers(
  redis: Redis,
  cursor: string,
  { match, count, shards = SHARD_NUMBERS }: { match: string; count: number; shards?: readonly number[] },
): Promise<[next: string, keys: string[]]> {
  const endpoints = endpointsOf(redis);
  const [own = '0', no = '0'] = cursor.split('/');
  const at = Number(no);
  const endpoint = endpoints[at];
  if (endpoint === undefined) return ['0', []];
  const isAsked = endpoint.shards.some((shard) => shards.includes(shard));
  const [next, found] = isAsked ? await endpoint.redis.scan(own, 'MATCH', match, 'COUNT', count) : ['0', []];
  const keys = found.filter((key) => !isShardKey(key) || endpoint.shards.includes(shardOfKey(key)));
  const place = next === '0' ? at + 1 : at;
  if (place >= endpoints.length) return ['0', keys];
  return [place === 0 ? next : `${next}/${place}`, keys];
}

const known = new WeakMap<Redis, readonly number[]>();

/** The shards that hold tenants, as far as this process knows. Not for work that must be complete. */
export const shardsInUse = (redis: Redis): readonly number[] => known.get(redis) ?? SHARD_NUMBERS;

/** Sets the shards in use; `null` if unknown. */
export function noteShardsInUse(redis: Redis, shards: readonly number[] | null): void {
  if (shards === null) known.delete(redis);
  else known.set(redis, shards);
}
