import { Redis, type Command, type RedisOptions } from 'ioredis';
import { SHARD_NUMBERS, shardOfKey } from './keys.ts';

/** A Redis server and the shards that it holds. */
export interface Endpoint {
  /** Name in Postgres, see `shards`; `''` if nobody set it (tests, tools). */
  name: string;
  redis: Redis;
  /** Changes when a shard moves; see `RoutingRedis.place`. */
  readonly shards: readonly number[];
}

/** Names of connections to a single server. */
const names = new WeakMap<Redis, string>();

/** Sets the name of the only Redis server. */
export const nameRedis = (redis: Redis, name: string): void => void names.set(redis, name);

const SHARD_KEY = /^\{s\d+\}:/;

const isShardKey = (word: unknown): word is string => typeof word === 'string' && SHARD_KEY.test(word);

/** Commands whose arguments are all keys. Keys on different servers are refused. */
const OF_KEYS = new Set(['mget', 'del', 'unlink']);

type Options = Omit<RedisOptions, 'replyMapping'>;
type Stream = Parameters<Redis['sendCommand']>[1];

/**
 * A client for several independent Redis servers. Each command goes to the server that holds the shard of its key, the first
 * argument that is one. The client itself is an additional connection to the first server, for data that belongs to no shard:
 * queues, messages between processes and tickets of live streams.
 *
 * Pipelines and transactions on a shard's keys must use the connection from `connectionOf`. On this client they throw, as does
 * a command whose keys are on several servers; both are programming errors.
 */
export class RoutingRedis extends Redis {
  readonly endpoints: readonly Endpoint[];
  private readonly byShard: Redis[];
  private readonly placeListeners = new Set<() => void>();

  /** `options`: for the connection to the first server. */
  constructor(options: Options, endpoints: readonly Endpoint[]) {
    super({ ...options, lazyConnect: true });
    this.endpoints = endpoints;
    this.byShard = SHARD_NUMBERS.map((shard) => endpoints.find(({ shards }) => shards.includes(shard))!.redis);
  }

  of(shard: number): Redis {
    return this.byShard[shard]!;
  }

  /** Moves a shard to another endpoint. */
  place(shard: number, to: Endpoint): void {
    for (const endpoint of this.endpoints as (Endpoint & { shards: readonly number[] })[]) {
      const others = endpoint.shards.filter((each) => each !== shard);
      endpoint.shards = endpoint === to ? [...others, shard].toSorted((a, b) => a - b) : others;
    }
    this.byShard[shard] = to.redis;
    for (const listener of this.placeListeners) listener();
  }

  /** Calls `listener` whenever a shard moves. Returns a function that stops this. */
  onPlaced(listener: () => void): () => void {
    this.placeListeners.add(listener);
    return () => void this.placeListeners.delete(listener);
  }

  override sendCommand(command: Command, stream?: Stream): unknown {
    const key = command.args.find(isShardKey);
    if (key === undefined) return super.sendCommand(command, stream);
    if (stream !== undefined)
      throw new Error(`A pipeline with ${command.name} of a shard: \`connectionOf\` says where.`);
    const redis = this.of(shardOfKey(key));
    if (
      OF_KEYS.has(command.name) &&
      command.args.some((word) => isShardKey(word) && this.of(shardOfKey(word)) !== redis)
    )
      throw new Error(`${command.name} with keys of several servers.`);
    return redis.sendCommand(command);
  }

  /** A plain connection to the first server. */
  override duplicate(override: Parameters<Redis['duplicate']>[0] = {}): Redis {
    return super.duplicate({ lazyConnect: false, ...override });
  }

  override disconnect(reconnect = false): void {
    super.disconnect(reconnect);
    if (!reconnect) for (const { redis } of this.endpoints) redis.disconnect();
  }
}

/** The connection to the server that holds a shard. Returns `redis` itself if there is only one server. */
export const connectionOf = (redis: Redis, shard: number): Redis =>
  redis instanceof RoutingRedis ? redis.of(shard) : redis;

export const endpointsOf = (redis: Redis): readonly Endpoint[] =>
  redis instanceof RoutingRedis ? redis.endpoints : [{ name: names.get(redis) ?? '', redis, shards: SHARD_NUMBERS }];

/** Calls `listener` whenever a shard moves to another server. Returns a function that stops this. */
export const onPlaced = (redis: Redis, listener: () => void): (() => void) =>
  redis instanceof RoutingRedis ? redis.onPlaced(listener) : () => undefined;

/** Groups shards by their current server. */
export function byServer(redis: Redis, shards: readonly number[]): (Endpoint & { shards: number[] })[] {
  const groups = endpointsOf(redis).map((endpoint) => ({
    name: endpoint.name,
    redis: endpoint.redis,
    shards: shards.filter((shard) => endpoint.shards.includes(shard)),
  }));
  return groups.filter((group) => group.shards.length > 0);
}

/**
 * One page of the keys that match a glob pattern, over all servers in turn, and the next cursor; '0' means start and end.
 * Excludes keys that moved shards left behind. Skips servers without any of `shards`. Throws errors of Redis.
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
  if (place === endpoints.length) return ['0', keys];
  return [place === 0 ? next : `${next}/${place}`, keys];
}
