import { AbstractConnector, type Command, Redis, type RedisOptions } from 'ioredis';
import { createConnection } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { fieldsOf } from '../redis-address.ts';
import { SharedRuns } from '../shared-runs.ts';
import { inTime } from '../time-limit.ts';
import { INSTALLATION_TAG, isShardKey, SHARD_NUMBERS, shardOfKey, shardTag } from './keys.ts';
import { addTo } from '../grouped.ts';

export interface Address {
  host: string;
  port: number;
}

/** `host:port`, the name of a node in the log and in metrics. */
export const nameOf = ({ host, port }: Address): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

interface Master extends Address {
  slots: readonly (readonly [first: number, last: number])[];
}

/** The assignment of slots to nodes, as one node sees it. */
export interface ClusterLayout {
  /** Grows with each change of the cluster; the view with the highest epoch is the newest. */
  epoch: number;
  /** Whether the node sees a majority of the masters. */
  isWell: boolean;
  masters: readonly Master[];
  /** All nodes, replicas included. */
  nodes: readonly Address[];
}

/** The master of a slot; `undefined` if no master serves it. */
export const masterOf = ({ masters }: ClusterLayout, slot: number): Address | undefined =>
  masters.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last));

const SLOTS = 16_384;
/** CRC16 of XMODEM: the polynomial x^16 + x^12 + x^5 + 1. */
const POLYNOMIAL = 0x1021;

/** The slot of a hash tag, which is the slot of every key with this tag. */
export function slotOfTag(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ POLYNOMIAL;
    crc &= 0xffff;
  }
  return crc % SLOTS;
}

const SLOT_OF_SHARD: readonly number[] = SHARD_NUMBERS.map((shard) => slotOfTag(shardTag(shard)));

export const slotOfShard = (shard: number): number => SLOT_OF_SHARD[shard]!;

/** The slot of everything that belongs to no shard: queues, counts, tickets of live streams. */
export const INSTALLATION_SLOT = slotOfTag(INSTALLATION_TAG);

export const isClusterNode = async (redis: Redis): Promise<boolean> =>
  /^cluster_enabled:1/m.test(String(await redis.call('INFO', 'CLUSTER')));

/** Asks a node for its view. `asked`: the node's own address, for nodes that announce none. Throws errors of Redis. */
export async function askLayout(redis: Redis, address: Address): Promise<ClusterLayout> {
  const [info, shards, slots] = await Promise.all(
    ['INFO', 'SHARDS', 'SLOTS'].map((part) => redis.call('CLUSTER', part)),
  );
  const field = (name: string): string => new RegExp(`^${name}:(\\w+)`, 'm').exec(String(info))?.[1] ?? '';
  const isTls = redis.options.tls !== undefined;
  return {
    epoch: Number(field('cluster_current_epoch')),
    isWell: field('cluster_state') === 'ok',
    ...parseLayout({ shards, slots }, { asked: address, isTls }),
  };
}

/**
 * Parses the replies to CLUSTER SHARDS, which has all nodes with their addresses, and CLUSTER SLOTS, which has the master of each
 * range, failed or not: Redis 8 leaves out the slots of a failed master in CLUSTER SHARDS.
 */
export function parseLayout(
  { shards, slots }: { shards: unknown; slots: unknown },
  { asked, isTls }: { asked: Address; isTls: boolean },
): Pick<ClusterLayout, 'masters' | 'nodes'> {
  const addresses = new Map<string, Address>();
  for (const group of shards as unknown[]) {
    for (const node of valuesOf(group).get('nodes') as unknown[]) {
      const fields = fieldsOf(node);
      const address = addressOf(fields, asked, isTls);
      if (address !== null) addresses.set(fields.get('id') ?? '', address);
    }
  }
  const ranges = new Map<string, [first: number, last: number][]>();
  for (const [first, last, [, , id]] of slots as [number, number, [endpoint: unknown, port: unknown, id: string]][])
    addTo(ranges, id, [first, last]);
  const masters = [...ranges].flatMap(([id, served]) => {
    const address = addresses.get(id);
    return address === undefined ? [] : [{ ...address, slots: served }];
  });
  return { masters, nodes: [...addresses.values()] };
}

/**
 * The masters that no replica follows, and whether they serve slots. `asked`: the address of the node that is asked, for
 * nodes that announce none. Throws errors of Redis.
 */
export async function mastersWithoutReplica(
  redis: Redis,
  asked: Address,
): Promise<{ name: string; servesSlots: boolean }[]> {
  const isTls = redis.options.tls !== undefined;
  return ((await redis.call('CLUSTER', 'SHARDS')) as unknown[]).flatMap((group) => {
    const fields = valuesOf(group);
    const nodes = (fields.get('nodes') as unknown[]).map((node) => fieldsOf(node));
    const well = nodes.filter((node) => node.get('health') === 'online');
    const master = well.find((node) => node.get('role') === 'master');
    if (master === undefined || well.length > 1) return [];
    const name = nameOf(addressOf(master, asked, isTls) ?? asked);
    return [{ name, servesSlots: (fields.get('slots') as unknown[]).length > 0 }];
  });
}

/** Names and values of a reply, whose values may be lists. */
const valuesOf = (reply: unknown): Map<unknown, unknown> =>
  Array.isArray(reply) ? new Map(pairs(reply)) : new Map(Object.entries(reply as object));

const pairs = <T>(flat: readonly T[]): [T, T][] =>
  flat.flatMap((each, at) => (at % 2 === 0 ? [[each, flat[at + 1]!] as [T, T]] : []));

/** What the node announces to clients (`cluster-announce-*`, `cluster-preferred-endpoint-type`). */
function addressOf(fields: ReadonlyMap<string, string>, address: Address, isTls: boolean): Address | null {
  const port = Number(fields.get(isTls ? 'tls-port' : 'port') ?? fields.get('port'));
  if (!Number.isInteger(port) || port < 1) return null;
  // A node with preferred endpoint "unknown-endpoint" is reached at the address that was queried.
  const endpoint = fields.get('endpoint') ?? '';
  const host = endpoint === '?' ? '' : endpoint;
  return { host: host === '' || host === 'null' ? address.host : host, port };
}

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
/** Time limit for a node's answer. */
const ANSWER_MS = 500;
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

/** Sends queries over a dedicated connection and closes it. */
export async function askOnce<T>(redis: Redis, ask: (redis: Redis) => Promise<T>): Promise<T> {
  redis.on('error', () => undefined);
  try {
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

/** Ignores nodes without a majority, which may not know of a failover. */
function newestOf(views: readonly (ClusterLayout | null)[]): ClusterLayout | null {
  const well = views.filter((view) => view?.isWell === true) as ClusterLayout[];
  return well.toSorted((a, b) => b.epoch - a.epoch)[0] ?? null;
}

/** The connections that follow `INSTALLATION_SLOT`. */
function createHome(locate: () => Promise<Address>) {
  const connected = new Map<HomeConnector, string>();

  function note(connector: HomeConnector, address: Address): void {
    connected.set(connector, nameOf(address));
  }

  function forget(connector: HomeConnector): void {
    connected.delete(connector);
  }

  /** Ends connections to other nodes, which then reconnect. A subscription sees no error when the slot moves. */
  function moveTo(address: Address): void {
    const name = nameOf(address);
    for (const [connector, to] of connected) if (to !== name) connector.end();
  }

  return { locate, note, forget, moveTo };
}

type Home = ReturnType<typeof createHome>;

class HomeConnector extends AbstractConnector {
  private readonly home: Home;
  private readonly options: RedisOptions;

  constructor(home: Home, options: RedisOptions) {
    super(options.disconnectTimeout ?? ANSWER_MS);
    this.home = home;
    this.options = options;
  }

  override async connect(): Promise<NonNullable<AbstractConnector['stream']>> {
    this.connecting = true;
    const address = await this.home.locate();
    if (!this.connecting) throw new Error('Connection is closed.');
    const { family, tls } = this.options;
    const to = { ...address, ...(family !== undefined && { family }) };
    const stream = tls === undefined ? createConnection(to) : connectTls({ ...to, ...tls });
    stream.once('error', (error) => (this.firstError = error));
    stream.once('close', () => this.home.forget(this));
    this.home.note(this, address);
    this.stream = stream;
    return stream;
  }

  end(): void {
    this.stream?.destroy();
  }
}

const connectorTo = (home: Home): NonNullable<RedisOptions['Connector']> =>
  class extends HomeConnector {
    constructor(options: unknown) {
      super(home, options as RedisOptions);
    }
  };
