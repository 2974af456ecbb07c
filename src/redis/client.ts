import { setTimeout as sleep } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { addressOptions } from '../redis-address.ts';
import { corkWrites } from './cork.ts';
import { endpointsOf, nameRedis, RoutingRedis } from './endpoints.ts';
import { gateOf } from './gate.ts';
import { isElsewhere } from './outage.ts';
import { PatientRedis } from './patient-redis.ts';

/** A server and the shards that are placed on it. */
export interface PlacedServer {
  name: string;
  url: string;
  shards: readonly number[];
}

/** What another process needs to come back, or replicas to take over, is a matter of some seconds; what takes longer takes long. */
const OFTEN_MS = 400;
const OFTEN_ATTEMPTS = 32;
const SELDOM_MS = 2_000;

/**
 * Delay before the nth attempt to reconnect: 50 ms, doubled each time, at most 400 ms for the first 12 seconds and 2 s after that.
 * Where Sentinels named another master 2 to 3 s after one was killed, delays that doubled up to 2 s lost 1.2 s more.
 */
const reconnectDelayMs = (attempt: number): number =>
  attempt > OFTEN_ATTEMPTS ? SELDOM_MS : Math.min(doubled(attempt), OFTEN_MS);

/** The same of a server that takes connections and then refuses to serve, as one that loads its data: 50 ms to 2 s. */
const refusedDelayMs = (refusals: number): number => Math.min(doubled(refusals), SELDOM_MS);

const doubled = (attempt: number): number => 50 * 2 ** Math.min(attempt - 1, 6);

/**
 * A Redis that is silent for so long while commands wait is taken for gone: it hangs, or the way to it is cut. Its
 * connection is dropped, so that what waits fails at once, and what comes next too, until it answers again.
 */
const SILENCE_MS = 3_000;

/**
 * The same of a connection whose commands may block: longer than the 10 s for which BullMQ's do. Without it a master that
 * hung when another took its place would be waited for for ever.
 */
const PATIENT_SILENCE_MS = 15_000;

/** A server that vanished does not even say that it is gone: after so long without a word the system asks after it. */
const KEEP_ALIVE_MS = 10_000;

/** A server that refuses to serve again within this time is asked less and less often. */
const CALM_MS = 10_000;

/**
 * How a connection comes back. An answer that says that the server cannot serve now, or is the master no more, ends the
 * connection: the next one goes where the name, or the Sentinels, lead by then. `onElsewhere` is called first, at once.
 */
function reconnecting(onElsewhere: () => void): Pick<RedisOptions, 'retryStrategy' | 'reconnectOnError'> {
  let refusals = 0;
  let refusedMs = -Infinity;
  const lately = (): number => (performance.now() - refusedMs < CALM_MS ? refusals : 0);
  return {
    // Of a server that takes connections and then refuses, the client counts no attempts.
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
 * A connection for work that a caller waits for. While Redis is away every command fails at once, and nothing is
 * sent twice: a script that was under way when the connection broke may or may not have run, and only the caller
 * knows how to find out. It reconnects by itself. Listen to `error`, or the process ends with the first one.
 * Throws as `addressOptions`.
 */
export const createRedis = (url: string): Redis => connected(url, (options) => new Redis(options));

/**
 * The same for several servers, each with its shards: see `RoutingRedis`. Of one, a plain connection with its name. Their connections are closed
 * with the first.
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
 * A connection for a BullMQ worker, or a subscriber: commands wait until Redis is back. BullMQ refuses a worker's
 * connection with any other `maxRetriesPerRequest`.
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

/** So long the others of several Redis are waited for once one of them answers, and how often it is looked. */
const OTHERS_MS = 1_000;
const LOOK_MS = 10;

/**
 * Resolves when all servers of a connection answer commands, or some do and the others have not within a second more: those are away.
 * Rejects if none does within `timeoutMs`.
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

/** Settles when the connection answers commands; rejects if it does not within `timeoutMs`. */
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
