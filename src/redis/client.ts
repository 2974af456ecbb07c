import { setTimeout as sleep } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { addressOptions } from '../redis-address.ts';
import { corkWrites } from './cork.ts';
import { endpointsOf, nameRedis, RoutingRedis } from './endpoints.ts';
import { gateOf } from './gate.ts';
import { isElsewhere } from './outage.ts';
import { PatientRedis } from './patient-redis.ts';

/** A server and the shards placed on it. */
export interface PlacedServer {
  name: string;
  url: string;
  shards: readonly number[];
}

/** A restart or failover takes a few seconds; an outage that lasts longer usually lasts long. */
const OFTEN_MS = 400;
const OFTEN_ATTEMPTS = 32;
const SELDOM_MS = 2_000;

/**
 * Delay before the nth attempt to reconnect: 50 ms, doubled each time, at most 400 ms for the first 12 seconds and 2 s after that.
 * Sentinels name another master 2 to 3 s after the old one is killed; delays that doubled up to 2 s lost another 1.2 s.
 */
const reconnectDelayMs = (attempt: number): number =>
  attempt > OFTEN_ATTEMPTS ? SELDOM_MS : Math.min(doubled(attempt), OFTEN_MS);

/** The delay for a server that accepts connections but refuses to serve, such as one that loads its data: 50 ms to 2 s. */
const refusedDelayMs = (refusals: number): number => Math.min(doubled(refusals), SELDOM_MS);

const doubled = (attempt: number): number => 50 * 2 ** Math.min(attempt - 1, 6);

/**
 * A Redis that is silent for this long while commands wait counts as gone: it hangs, or the network is cut. Its connection is
 * dropped, so that waiting and new commands fail immediately until it answers again.
 */
const SILENCE_MS = 3_000;

/**
 * The limit for connections with blocking commands: longer than the 10 s of BullMQ's. Without a limit, a worker would wait forever
 * for a master that hangs after a failover.
 */
const PATIENT_SILENCE_MS = 15_000;

/** Idle time before TCP keep-alive probes detect a server that vanished. */
const KEEP_ALIVE_MS = 10_000;

/** A server that refuses to serve again within this time is tried at growing intervals. */
const CALM_MS = 10_000;

/**
 * Reconnection settings. A reply that the server cannot serve now, or is no longer the master, ends the connection; the next one goes
 * where the name or the Sentinels then lead. `onElsewhere` is called first, immediately.
 */
function reconnecting(onElsewhere: () => void): Pick<RedisOptions, 'retryStrategy' | 'reconnectOnError'> {
  let refusals = 0;
  let refusedMs = -Infinity;
  const lately = (): number => (performance.now() - refusedMs < CALM_MS ? refusals : 0);
  return {
    // If a server accepts connections and then refuses to serve, the client counts no attempts.
    retryStrategy: (attempt) => Math.max(reconnectDelayMs(attempt), refusedDelayMs(lately())),
    reconnectOnError: (error) => {
      if (!isElsewhere(error)) return false;
      onElsewhere();
      refusals = lately() + 1;
      refusedMs = performance.now();
      return 1;
    },
  };
}

/**
 * A connection for work that a caller waits for. While Redis is unreachable every command fails immediately. Nothing is sent twice: a
 * script in flight when the connection broke may or may not have run, and only the caller can find out. Reconnects
 * automatically. Add an `error` listener, or the first error ends the process. Throws as `addressOptions`.
 */
export const createRedis = (url: string): Redis => connected(url, (options) => new Redis(options));

/**
 * A connection to several servers, each with its shards; see `RoutingRedis`. For a single server, a plain connection with its name.
 * Closing the first connection closes the others.
 */
export function createRedises(placed: readonly PlacedServer[]): Redis {
  const [first, ...others] = placed;
  if (others.length === 0) {
    const redis = createRedis(first!.url);
    nameRedis(redis, first!.name);
    return redis;
  }
  const endpoints = placed.map(({ name, url, shards }) => ({ name, shards, redis: createRedis(url) }));
  const routing = connected(first!.url, (options) => new RoutingRedis(options, endpoints));
  routing.connect().catch(() => undefined);
  return routing;
}

function connected(url: string, make: (options: Omit<RedisOptions, 'replyMapping'>) => Redis): Redis {
  const redis: Redis = make({
    ...addressOptions(url),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    connectTimeout: 5000,
    socketTimeout: SILENCE_MS,
    keepAlive: KEEP_ALIVE_MS,
    ...reconnecting(() => gateOf(redis)?.dispatch({ type: 'redirected' })),
  });
  corkWrites(redis);
  return redis;
}

/**
 * A connection for a BullMQ worker or a subscriber: commands wait until Redis is back. BullMQ requires this value of
 * `maxRetriesPerRequest` for workers.
 */
export const createPatientRedis = (url: string): PatientRedis =>
  new PatientRedis({
    ...addressOptions(url),
    maxRetriesPerRequest: null,
    connectTimeout: 5000,
    socketTimeout: PATIENT_SILENCE_MS,
    keepAlive: KEEP_ALIVE_MS,
    ...reconnecting(() => undefined),
  });

/** How long to wait for the other servers once one answers, and how often to check. */
const OTHERS_MS = 1_000;
const LOOK_MS = 10;

/**
 * Resolves when all servers of a connection answer, or a second after the first one does; the others count as unreachable. Rejects if
 * none answers within `timeoutMs`.
 */
export async function someReady(redis: Redis, timeoutMs = 10_000): Promise<void> {
  const servers = endpointsOf(redis).map((endpoint) => endpoint.redis);
  const all = [redis, ...servers];
  let deadlineMs = performance.now() + timeoutMs;
  let isOneReady = false;
  while (all.some(({ status }) => status !== 'ready') && performance.now() < deadlineMs) {
    if (!isOneReady && servers.some(({ status }) => status === 'ready')) {
      isOneReady = true;
      deadlineMs = Math.min(deadlineMs, performance.now() + OTHERS_MS);
    }
    await sleep(LOOK_MS);
  }
  if (!servers.some(({ status }) => status === 'ready'))
    throw new Error(`Redis did not answer within ${timeoutMs / 1000} s.`);
}

/** Resolves when the connection answers commands; rejects after `timeoutMs`. */
export async function redisReady(redis: Redis, timeoutMs = 10_000): Promise<void> {
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
