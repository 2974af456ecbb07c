import { Redis, type RedisOptions } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { delayMs } from '../pacing/backoff.ts';
import { addressOptions, parseRedisUrls } from '../settings/redis-address.ts';
import { StartError } from '../start-error.ts';
import { chargeCommands } from './charged-commands.ts';
import {
  type Address,
  askLayout,
  askOnce,
  type ClusterLayout,
  isClusterNode,
  masterOf,
  nameOf,
  slotOfShard,
} from './cluster-layout.ts';
import { ClusterRedis } from './cluster.ts';
import { endpointsOf, nameRedis, noteCluster } from './endpoints.ts';
import { gateOf } from './gate.ts';
import { isShardKey, SHARD_NUMBERS, shardOfKey } from './keys.ts';
import { isElsewhere, isKeyByKey, isOtherSlot, noteSilence, SILENT_MS } from './outage.ts';

/** The client's internal step for a connection that closes for good. It omits this step while it waits to reconnect. */
interface Closing {
  setStatus(status: 'end'): void;
  flushQueue(error: Error): void;
}

/** The client's internal watch of a connection for which a reply is due (`socketTimeout`). */
interface Watched {
  socketTimeoutTimer: NodeJS.Timeout | undefined;
  commandQueue: { length: number };
  setSocketTimeout(): void;
}

/** A connection and its duplicates. */
interface Family {
  readonly members: Set<PatientRedis>;
  isOver: boolean;
}

const CLOSED = 'Connection is closed.';

/**
 * A connection that can be ended while it waits to reconnect. A plain client never emits `end` in that case, so a BullMQ
 * worker that waits for it while closing would wait forever. The same holds for duplicates, which BullMQ creates.
 */
export class PatientRedis extends Redis {
  /** Undefined while the base constructor connects. */
  private family: Family | undefined = { members: new Set([this]), isOver: false };

  /** Ends this connection and its duplicates, which otherwise reconnect for ever while all Sentinels are down. */
  endFamily(): void {
    const family = this.family!;
    family.isOver = true;
    for (const member of family.members) member.disconnect();
  }

  override connect(...given: Parameters<Redis['connect']>): ReturnType<Redis['connect']> {
    return this.family?.isOver === true ? Promise.reject(new Error(CLOSED)) : super.connect(...given);
  }

  override disconnect(reconnect = false): void {
    const isIdle = this.status === 'reconnecting' && !reconnect;
    super.disconnect(reconnect);
    if (!isIdle) return;
    const closing = this as unknown as Closing;
    closing.setStatus('end');
    closing.flushQueue(new Error(CLOSED));
  }

  override duplicate(override: Parameters<Redis['duplicate']>[0] = {}): Redis {
    const copy = new PatientRedis(Object.assign({}, this.options, override) as Omit<RedisOptions, 'replyMapping'>);
    copy.join(this.family!);
    return copy;
  }

  private join(family: Family): void {
    this.family = family;
    family.members.add(this);
  }
}

type Options = Omit<RedisOptions, 'replyMapping'>;

/** A restart or failover takes a few seconds; an outage that lasts longer usually lasts long. */
const OFTEN = { firstMs: 50, lastMs: 400 };
const OFTEN_ATTEMPTS = 32;
/** For a server that accepts connections but refuses to serve, such as one that loads its data. */
const REFUSED = { firstMs: 50, lastMs: 2_000 };

/**
 * Delay before the nth attempt to reconnect: 50 ms, doubled each time, at most 400 ms for the first 12 seconds and 2 s after that.
 * Sentinels name another master 2 to 3 s after the old one is killed; delays that doubled up to 2 s lost another 1.2 s.
 */
const reconnectDelayMs = (attempt: number): number =>
  attempt > OFTEN_ATTEMPTS ? REFUSED.lastMs : delayMs(OFTEN, attempt);

/** A Redis silent for this long while commands wait counts as gone; its connection is dropped. */
const SILENCE_MS = 3_000;

/** The limit for blocking commands, longer than the 10 s of BullMQ's. */
const PATIENT_SILENCE_MS = 15_000;

/**
 * Has a connection count as silent only if no reply is waiting to be read: shortly (`unlessSilent`), and then as gone. Timers run
 * before sockets are read, so after this process itself stood still, the client would drop all its connections, although the
 * servers had answered.
 */
function readBeforeTimeout(redis: Redis): void {
  const watched = redis as unknown as Watched;
  redis.on('close', () => noteSilence(redis, false));
  watched.setSocketTimeout = () => {
    const { stream } = redis;
    const { socketTimeout: goneMs = SILENCE_MS } = redis.options;
    let isSilent = false;
    let timer: NodeJS.Timeout;
    const after = (ms: number, next: () => void): void => {
      const started = setTimeout(() => setImmediate(() => watched.socketTimeoutTimer === started && next()), ms);
      watched.socketTimeoutTimer = timer = started;
    };
    const gone = (): void => {
      watched.socketTimeoutTimer = undefined;
      stream.destroy(new Error(`Socket timeout. Redis has not answered for ${goneMs / 1000} s.`));
    };
    after(SILENT_MS, () => {
      isSilent = true;
      noteSilence(redis, true);
      after(goneMs - SILENT_MS, gone);
    });
    // Runs after the client's own listener, which takes replied commands from the queue.
    stream.once('data', () => {
      clearTimeout(timer);
      if (watched.socketTimeoutTimer !== timer) return;
      if (isSilent) noteSilence(redis, false);
      watched.socketTimeoutTimer = undefined;
      if (watched.commandQueue.length > 0) watched.setSocketTimeout();
    });
  };
}

/** Idle time before TCP keep-alive probes detect a server that vanished. */
const KEEP_ALIVE_MS = 10_000;

/** A server that refuses to serve again within this time is tried at growing intervals. */
const CALM_MS = 10_000;

/**
 * Reconnection settings. A reply that the server cannot serve now, or is no longer the master, ends the connection; the next
 * one goes where the name or the Sentinels then lead. `onElsewhere` is called first, immediately; if it returns true, the
 * connection stays.
 */
function reconnecting(
  onElsewhere: (error: Error) => boolean | void,
): Pick<RedisOptions, 'retryStrategy' | 'reconnectOnError'> {
  let refusals = 0;
  let refusedMs = -Infinity;
  const lately = (): number => (performance.now() - refusedMs < CALM_MS ? refusals : 0);
  return {
    // If a server accepts connections and then refuses to serve, the client counts no attempts.
    retryStrategy: (attempt) => Math.max(reconnectDelayMs(attempt), delayMs(REFUSED, lately())),
    reconnectOnError: (error) => {
      if (!isElsewhere(error)) return false;
      if (onElsewhere(error) === true) return false;
      refusals = lately() + 1;
      refusedMs = performance.now();
      return 1;
    },
  };
}

/** Options of a connection for work that a caller waits for; see `createRedis`. */
const forRequests = (onElsewhere: (error: Error) => boolean | void): Options => ({
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  connectTimeout: 5000,
  socketTimeout: SILENCE_MS,
  keepAlive: KEEP_ALIVE_MS,
  ...reconnecting(onElsewhere),
});

/**
 * A connection for work that a caller waits for. While Redis is unreachable every command fails immediately. Nothing is sent
 * twice: a script in flight when the connection broke may or may not have run, and only the caller can find out. Reconnects
 * automatically. Add an `error` listener, or the first error ends the process. Throws as `addressOptions`.
 */
export function createRedis(url: string): Redis {
  const redis: Redis = new Redis({
    ...addressOptions(url),
    ...forRequests(() => void gateOf(redis)?.dispatch({ type: 'redirected' })),
  });
  readBeforeTimeout(redis);
  corkWrites(redis);
  chargeCommands(redis);
  return redis;
}

/** Time limit for a node to connect and to report its slots; a start on a busy machine gives it more, if it needs that. */
const ONCE_MS = 1_000;
const ONCE_AT_MOST_MS = 4_000;

class ClusterIsDown extends StartError {
  constructor(address: Address) {
    super(
      `The cluster does not serve requests, according to its node ${nameOf(address)} (cluster_state in CLUSTER INFO). ` +
        'It needs a majority of its masters and, with cluster-require-full-coverage, all slots.',
    );
    this.name = 'ClusterIsDown';
  }
}

class SlotWithoutMaster extends StartError {
  constructor(address: Address, slot: number) {
    super(`No master of the cluster serves slot ${slot}, according to its node ${nameOf(address)} (CLUSTER SLOTS).`);
    this.name = 'SlotWithoutMaster';
  }
}

/** How long no server at REDIS_URL may answer. */
const FIND_MS = 10_000;

/**
 * Connects to one Redis, to the master that Sentinels report, or to a cluster of which REDIS_URL names nodes. The connection
 * to a cluster routes commands by shard (`ClusterRedis`, `connectionOf`), and closing it closes the connections to the
 * nodes. Rejects if no server answers. Throws StartError for several servers that are not a cluster, and for a cluster that
 * is down or serves only some shards.
 */
export async function connectRedis(redisUrl: string, timeoutMs = FIND_MS): Promise<Redis> {
  const addresses = parseRedisUrls(redisUrl);
  if (typeof addresses === 'string') throw new StartError(`REDIS_URL ${addresses}`);
  const [first] = addresses;
  const { host, port, ...options } = addressOptions(first!.url);
  if (options.sentinels === undefined) {
    const seeds = addresses.map(({ url }) => seedOf(url));
    const layout = await findLayout(seeds, options, timeoutMs);
    if (layout !== null) return connectCluster(seeds, options, layout);
    if (seeds.length > 1)
      throw new StartError(
        'REDIS_URL names several servers that are not a cluster. Name one Redis, or nodes of one cluster.',
      );
  }
  const redis = createRedis(first!.url);
  nameRedis(redis, options.name ?? nameOf({ host: host!, port: port! }));
  return redis;
}

function seedOf(url: string): Address {
  const { host, port } = addressOptions(url);
  return { host: host!, port: port! };
}

/** The layout of a cluster; null if the first server that answers is not a cluster node. Rejects if none answers in time. */
async function findLayout(
  seeds: readonly Address[],
  options: Options,
  timeoutMs: number,
): Promise<ClusterLayout | null> {
  const deadlineMs = performance.now() + timeoutMs;
  for (let mayTakeMs = ONCE_MS; ; mayTakeMs = Math.min(2 * mayTakeMs, ONCE_AT_MOST_MS)) {
    const onceMs = Math.max(ONCE_MS, Math.min(mayTakeMs, deadlineMs - performance.now()));
    try {
      return await Promise.any(
        seeds.map(async (address) => {
          const layout = await askOnce(connectOnce(options, address, onceMs), async (redis) =>
            (await isClusterNode(redis)) ? askLayout(redis, address) : null,
          );
          if (layout === null) return null;
          if (!layout.isWell) throw new ClusterIsDown(address);
          // A node that has just joined may not have heard from every master yet.
          const unserved = SHARD_NUMBERS.map(slotOfShard).find((slot) => masterOf(layout, slot) === undefined);
          if (unserved !== undefined) throw new SlotWithoutMaster(address, unserved);
          return layout;
        }),
      );
    } catch (error) {
      const [cause] = (error as AggregateError).errors as Error[];
      if (performance.now() > deadlineMs && cause instanceof StartError) throw cause;
      if (performance.now() > deadlineMs)
        throw new Error(`Redis did not answer within ${timeoutMs / 1000} s.`, { cause });
      await sleep(OFTEN.lastMs);
    }
  }
}

function connectCluster(seeds: readonly Address[], options: Options, layout: ClusterLayout): Redis {
  const cluster: ClusterRedis = new ClusterRedis({
    options: { ...options, ...forRequests(() => cluster.refused()) },
    seeds,
    layout,
    connect: (address) => connectNode(address, options, () => cluster.refused()),
    connectOnce: (address) => connectOnce(options, address),
  });
  cluster.onServer(({ redis }) => noteCluster(redis, cluster));
  readBeforeTimeout(cluster);
  corkWrites(cluster);
  chargeCommands(cluster, ({ args }) => args.some(isShardKey));
  cluster.connect().catch(() => undefined);
  return cluster;
}

/** A connection to a node. A reply about a slot closes the shards of the command, not the connection. */
function connectNode(address: Address, options: Options, onRefused: () => void): Redis {
  const redis: Redis = new Redis({
    ...options,
    ...address,
    ...forRequests((error) => {
      const gate = gateOf(redis);
      const { args = [] } = (error as { command?: { args?: unknown[] } }).command ?? {};
      const shards = [...new Set(args.filter(isShardKey).map(shardOfKey))];
      const isOfSlot = isOtherSlot(error);
      gate?.dispatch(
        { type: 'redirected', keyByKey: isKeyByKey(error) },
        isOfSlot && shards.length > 0 ? shards.filter((shard) => gate.holds(shard)) : undefined,
      );
      onRefused();
      return isOfSlot;
    }),
  });
  readBeforeTimeout(redis);
  corkWrites(redis);
  chargeCommands(redis);
  return redis;
}

const connectOnce = (options: Options, address: Address, onceMs = ONCE_MS): Redis =>
  new Redis({
    ...options,
    ...address,
    connectTimeout: onceMs,
    commandTimeout: onceMs,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });

/** A connection for a BullMQ worker or a subscriber: commands wait until Redis is back. */
export const createPatientRedis = (to: string | Redis): PatientRedis =>
  new PatientRedis({
    ...(typeof to === 'string' ? addressOptions(to) : (to.options as Options)),
    enableOfflineQueue: true,
    autoResendUnfulfilledCommands: true,
    lazyConnect: false,
    maxRetriesPerRequest: null,
    connectTimeout: 5000,
    socketTimeout: PATIENT_SILENCE_MS,
    keepAlive: KEEP_ALIVE_MS,
    ...reconnecting(() => undefined),
  });

const READY_MS = 10_000;
/** How long to wait for the other servers once one answers, and how often to check. */
const OTHERS_MS = 1_000;
const LOOK_MS = 10;

/** Resolves when all servers answer, or a second after the first one. Rejects if none does within `READY_MS`. */
export async function someReady(redis: Redis): Promise<void> {
  const servers = endpointsOf(redis).map((endpoint) => endpoint.redis);
  const all = [redis, ...servers];
  let deadlineMs = performance.now() + READY_MS;
  let isOneReady = false;
  while (all.some(({ status }) => status !== 'ready') && performance.now() < deadlineMs) {
    if (!isOneReady && servers.some(({ status }) => status === 'ready')) {
      isOneReady = true;
      deadlineMs = Math.min(deadlineMs, performance.now() + OTHERS_MS);
    }
    await sleep(LOOK_MS);
  }
  if (!servers.some(({ status }) => status === 'ready'))
    throw new Error(`Redis did not answer within ${READY_MS / 1000} s.`);
}

/** Resolves when the connection answers commands; rejects after `timeoutMs`. */
export async function redisReady(redis: Redis, timeoutMs = READY_MS): Promise<void> {
  if (redis.status === 'ready') return;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      redis.off('ready', ready);
      reject(new Error(`Redis did not answer within ${timeoutMs / 1000} s.`));
    }, timeoutMs);
    const ready = (): void => {
      clearTimeout(timer);
      resolve();
    };
    redis.once('ready', ready);
  });
}

/**
 * Sends the commands of one turn of the event loop with one system call instead of one each. With 32 concurrent leaderboard reads,
 * this saves a sixth of the frontend's CPU. Commands wait only until the end of the turn. A broken connection loses the same
 * commands as without it.
 */
export function corkWrites(redis: Redis): void {
  redis.on('connect', () => {
    const { stream } = redis;
    const write = stream.write.bind(stream);
    let waiting = false;
    const flush = (): void => {
      waiting = false;
      stream.uncork();
    };
    stream.write = ((...given: Parameters<typeof write>) => {
      if (!waiting) {
        waiting = true;
        stream.cork();
        setImmediate(flush);
      }
      return write(...given);
    }) as typeof stream.write;
  });
}
