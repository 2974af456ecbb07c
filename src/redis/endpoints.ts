import { Redis, type Command, type RedisOptions } from 'ioredis';
import { SHARD_NUMBERS, shardOfKey } from './keys.ts';

/** A Redis, and the shards that it holds. */
export interface Endpoint {
  /** As Postgres knows it, see `shards`; '' where nobody said (tests, tools). */
  name: string;
  redis: Redis;
  /** Others once a shard was moved, see `RoutingRedis.place`. */
  readonly shards: readonly number[];
}

/** What a connection to the only one is called. */
const names = new WeakMap<Redis, string>();

/** Says what the only Redis is called. */
export const nameRedis = (redis: Redis, name: string): void => void names.set(redis, name);

const SHARD_KEY = /^\{s\d+\}:/;

const isShardKey = (word: unknown): word is string => typeof word === 'string' && SHARD_KEY.test(word);

/** Commands all of whose words are keys: of one server, or refused. */
const OF_KEYS = new Set(['mget', 'del', 'unlink']);

type Options = Omit<RedisOptions, 'replyMapping'>;
type Stream = Parameters<Redis['sendCommand']>[1];

/**
 * Stands for several independent Redis: a command goes over the connection to the server that holds the shard of its key, which is
 * the first of its words that is one. It is itself one more connection to the first of them, for what is of no shard: queues,
 * messages between processes, streams' tickets. What is more than a command asks `connectionOf` for the shard's connection: a
 * pipeline or transaction on this one with a key of a shard is a fault of ours and throws, as does a command whose keys are of
 * several servers.
 */
export class RoutingRedis extends Redis {
  readonly endpoints: readonly Endpoint[];
  private readonly byShard: Redis[];
  private readonly placeListeners = new Set<() => void>();

  /** `options`: of a connection to the first. */
  constructor(options: Options, endpoints: readonly Endpoint[]) {
    super({ ...options, lazyConnect: true });
    this.endpoints = endpoints;
    this.byShard = SHARD_NUMBERS.map((shard) => endpoints.find(({ shards }) => shards.includes(shard))!.redis);
  }

  /** The connection to the server that holds a shard. */
  of(shard: number): Redis {
    return this.byShard[shard]!;
  }

  /** From now on a shard is on another of the endpoints. */
  place(shard: number, to: Endpoint): void {
    for (const endpoint of this.endpoints as (Endpoint & { shards: readonly number[] })[]) {
      const others = endpoint.shards.filter((each) => each !== shard);
      endpoint.shards = endpoint === to ? [...others, shard].toSorted((a, b) => a - b) : others;
    }
    this.byShard[shard] = to.redis;
    for (const listener of this.placeListeners) listener();
  }

  /** Called whenever a shard was placed elsewhere; the returned function ends that. */
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

  /** A plain connection to the first. */
  override duplicate(override: Parameters<Redis['duplicate']>[0] = {}): Redis {
    return super.duplicate({ lazyConnect: false, ...override });
  }

  override disconnect(reconnect = false): void {
    super.disconnect(reconnect);
    if (!reconnect) for (const { redis } of this.endpoints) redis.disconnect();
  }
}

/** The connection to the server that holds a shard: the given one, unless that knows several. */
export const connectionOf = (redis: Redis, shard: number): Redis =>
  redis instanceof RoutingRedis ? redis.of(shard) : redis;

/** The servers that a connection leads to. */
export const endpointsOf = (redis: Redis): readonly Endpoint[] =>
  redis instanceof RoutingRedis ? redis.endpoints : [{ name: names.get(redis) ?? '', redis, shards: SHARD_NUMBERS }];

/** Calls the listener whenever a shard was moved from one server to another; the returned function ends that. */
export const onPlaced = (redis: Redis, listener: () => void): (() => void) =>
  redis instanceof RoutingRedis ? redis.onPlaced(listener) : () => undefined;

/** The shards, in groups of those that are on one server now, each with its name and connection. */
export function byServer(redis: Redis, shards: readonly number[]): (Endpoint & { shards: number[] })[] {
  const groups = endpointsOf(redis).map((endpoint) => ({
    name: endpoint.name,
    redis: endpoint.redis,
    shards: shards.filter((shard) => endpoint.shards.includes(shard)),
  }));
  return groups.filter((group) => group.shards.length > 0);
}

/**
 * Some keys that match a glob, of all servers one after another, and the cursor to go on with; '0' is the start, and the end.
 * Without what a shard that was moved has left behind. `shards`: servers with none of them are not asked. Errors of Redis.
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
