import { type Command, Redis, type RedisOptions } from 'ioredis';
import { SharedRuns } from '../pacing/shared-runs.ts';
import { inTime } from '../pacing/time-limit.ts';
import { ANSWER_MS, connectorTo, createHome, type Home } from './cluster-home.ts';
import {
  type Address,
  askLayout,
  askOnce,
  type ClusterLayout,
  INSTALLATION_SLOT,
  masterOf,
  nameOf,
  newestOf,
  slotOfShard,
} from './cluster-layout.ts';
import { isShardKey, SHARD_NUMBERS, shardOfKey } from './keys.ts';

/** A Redis server and the shards that it holds. */
export interface Endpoint {
  name: string;
  redis: Redis;
  /** Changes when the cluster moves a slot. */
  readonly shards: readonly number[];
}

interface Node {
  readonly address: Address;
  readonly name: string;
  readonly redis: Redis;
  shards: readonly number[];
  readonly gone: AbortController;
  /** Drops the node once it has had no shards for `LINGER_MS`; `null` while it has some. */
  lingering: NodeJS.Timeout | null;
}

/** Called for each server, including those added later. `gone` is aborted when the server is removed. */
export type OnServer = (endpoint: Endpoint, gone: AbortSignal) => void;

/** Called when a shard moves to another server. */
export type OnPlaced = (shard: number, from: Endpoint, to: Endpoint) => void;

export interface ClusterOptions {
  options: Omit<RedisOptions, 'replyMapping'>;
  /** The nodes that REDIS_URL names. */
  seeds: readonly Address[];
  /** A layout that serves every shard. */
  layout: ClusterLayout;
  connect: (address: Address) => Redis;
  /** Connects to a node only to read the layout; never retries. */
  connectOnce: (address: Address) => Redis;
}

/** Interval of reading the layout: normally, and while a server is unreachable or has refused a shard. */
const READ_MS = 5_000;
const READ_AGAIN_MS = 100;
/** How long the layout is read often after a server refused a shard. */
const OFTEN_MS = 3_000;
/** How long a node without shards may still answer commands that were sent to it. */
const LINGER_MS = 2_000;

/** Commands whose arguments are all keys. Keys on different servers are refused. */
const OF_KEYS = new Set(['mget', 'del', 'unlink']);

type Stream = Parameters<Redis['sendCommand']>[1];

/**
 * A client for a cluster, with one plain connection to each master that holds shards. It reads the assignment of slots
 * every few seconds, and immediately when a server refuses a shard or disconnects. Each command goes to
 * the master of the first argument that is a key of a shard.
 *
 * The client itself is an additional connection to the master of `INSTALLATION_SLOT`, for data that belongs to no shard:
 * queues, counts, messages between processes and tickets of live streams. It and its duplicates follow the slot.
 *
 * Pipelines and transactions on a shard's keys must use the connection from `connectionOf`. On this client they throw, as do
 * commands with keys on several servers; both are programming errors.
 */
export class ClusterRedis extends Redis {
  private readonly settings: ClusterOptions;
  private layout: ClusterLayout;
  private nodes: Node[] = [];
  private readonly byShard: Node[] = [];
  private readonly serverListeners = new Set<OnServer>();
  private readonly placeListeners = new Set<OnPlaced>();
  private readonly reads = new SharedRuns(() => this.read(), { everyMs: 0 });
  private readonly home: Home;
  private readonly closing = new AbortController();
  private refusedMs = -Infinity;
  private wake = (): void => undefined;

  constructor(options: ClusterOptions) {
    const home = createHome(() => this.locateHome());
    super({ ...options.options, Connector: connectorTo(home), lazyConnect: true });
    this.settings = options;
    this.home = home;
    this.layout = options.layout;
    this.follow(options.layout);
    void this.run();
  }

  get endpoints(): readonly Endpoint[] {
    return this.nodes;
  }

  of(shard: number): Redis {
    return this.byShard[shard]!.redis;
  }

  /** See `OnServer`. Returns a function that removes the listener. */
  onServer(listener: OnServer): () => void {
    this.serverListeners.add(listener);
    for (const node of this.nodes) listener(node, node.gone.signal);
    return () => void this.serverListeners.delete(listener);
  }

  /** See `OnPlaced`. Returns a function that removes the listener. */
  onPlaced(listener: OnPlaced): () => void {
    this.placeListeners.add(listener);
    return () => void this.placeListeners.delete(listener);
  }

  refused(): void {
    this.refusedMs = performance.now();
    this.wake();
  }

  /** Resolves when a read of the layout that began after the call has been applied. Never rejects. */
  refresh(): Promise<void> {
    return this.reads.run();
  }

  override sendCommand(command: Command, stream?: Stream): unknown {
    const key = command.args.find(isShardKey);
    if (key === undefined) return super.sendCommand(command, stream);
    if (stream !== undefined)
      throw new Error(`A pipeline contains ${command.name} with a shard's key; use \`connectionOf\`.`);
    const redis = this.of(shardOfKey(key));
    if (
      OF_KEYS.has(command.name) &&
      command.args.some((word) => isShardKey(word) && shardOfKey(word) !== shardOfKey(key))
    )
      throw new Error(`${command.name} has keys of several shards.`);
    return redis.sendCommand(command);
  }

  /** A plain connection that follows `INSTALLATION_SLOT`. */
  override duplicate(override: Parameters<Redis['duplicate']>[0] = {}): Redis {
    return super.duplicate({ lazyConnect: false, ...override });
  }

  override disconnect(reconnect = false): void {
    super.disconnect(reconnect);
    if (reconnect) return;
    this.closing.abort();
    this.wake();
    for (const node of this.nodes) this.drop(node);
  }

  private async run(): Promise<void> {
    const { signal } = this.closing;
    for (;;) {
      const isOften =
        performance.now() - this.refusedMs < OFTEN_MS || this.nodes.some(({ redis }) => redis.status !== 'ready');
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, isOften ? READ_AGAIN_MS : READ_MS);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      if (signal.aborted) return;
      await this.refresh();
    }
  }

  /** Queries the masters, and all nodes if no master is healthy. The newest view wins. */
  private async read(): Promise<void> {
    const ready = this.nodes.filter(({ redis }) => redis.status === 'ready');
    const ask = async ({ redis, address }: (typeof ready)[number]) =>
      inTime(
        askLayout(redis, address).catch(() => null),
        ANSWER_MS,
        null,
      );
    const views = await Promise.all(ready.map(ask));
    const seen = newestOf(views) ?? newestOf(await this.askAll());
    if (seen !== null && !this.closing.signal.aborted) this.follow(seen);
  }

  private askAll(): Promise<(ClusterLayout | null)[]> {
    const addresses = new Map([...this.layout.nodes, ...this.settings.seeds].map((each) => [nameOf(each), each]));
    const ask = (address: Address): Promise<ClusterLayout> =>
      askOnce(this.settings.connectOnce(address), (redis) => askLayout(redis, address));
    return Promise.all([...addresses.values()].map((address) => ask(address).catch(() => null)));
  }

  private follow(layout: ClusterLayout): void {
    this.layout = layout;
    for (const shard of SHARD_NUMBERS) {
      const address = masterOf(layout, slotOfShard(shard));
      // A slot without a master stays where it was; that server refuses it.
      if (address === undefined) continue;
      this.place(shard, this.nodeAt(address));
    }
    const home = masterOf(layout, INSTALLATION_SLOT);
    if (home !== undefined) this.home.moveTo(home);
    for (const node of this.nodes) if (node.shards.length === 0) this.dropLater(node);
  }

  private nodeAt(address: Address): Node {
    const name = nameOf(address);
    let node = this.nodes.find((each) => each.name === name);
    if (node !== undefined) return node;
    const gone = new AbortController();
    node = { address, name, redis: this.settings.connect(address), shards: [], gone, lingering: null };
    this.nodes = [...this.nodes, node];
    for (const listener of this.serverListeners) listener(node, node.gone.signal);
    return node;
  }

  private place(shard: number, to: Node): void {
    const from = this.byShard[shard];
    if (from === to) return;
    if (from !== undefined) from.shards = from.shards.filter((each) => each !== shard);
    this.keep(to);
    to.shards = [...to.shards, shard].toSorted((a, b) => a - b);
    this.byShard[shard] = to;
    if (from !== undefined) for (const listener of this.placeListeners) listener(shard, from, to);
  }

  private dropLater(node: Node): void {
    node.lingering ??= setTimeout(() => this.drop(node), LINGER_MS).unref();
  }

  private keep(node: Node): void {
    if (node.lingering !== null) clearTimeout(node.lingering);
    node.lingering = null;
  }

  private drop(node: Node): void {
    if (node.gone.signal.aborted) return;
    this.keep(node);
    this.nodes = this.nodes.filter((each) => each !== node);
    node.gone.abort();
    node.redis.disconnect();
  }

  private async locateHome(): Promise<Address> {
    await this.refresh();
    return masterOf(this.layout, INSTALLATION_SLOT) ?? this.layout.nodes[0]!;
  }
}
