import { Redis } from 'ioredis';
import { corkWrites } from './cork.ts';

/** Delay before the nth attempt to reconnect: 50 ms, doubled each time, at most 2 s. */
const reconnectDelayMs = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt - 1, 6), 2000);

/**
 * A Redis that is silent for so long while commands wait is taken for gone: it hangs, or the way to it is cut. Its
 * connection is dropped, so that what waits fails at once, and what comes next too, until it answers again.
 */
const SILENCE_MS = 3_000;

/**
 * A connection for work that a caller waits for. While Redis is away every command fails at once, and nothing is
 * sent twice: a script that was under way when the connection broke may or may not have run, and only the caller
 * knows how to find out. It reconnects by itself. Listen to `error`, or the process ends with the first one.
 */
export function createRedis(url: string): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    connectTimeout: 5000,
    socketTimeout: SILENCE_MS,
    retryStrategy: reconnectDelayMs,
  });
  corkWrites(redis);
  return redis;
}

/**
 * A connection for a BullMQ worker, or a subscriber: commands wait until Redis is back. BullMQ refuses a worker's
 * connection with any other `maxRetriesPerRequest`.
 */
export const createPatientRedis = (url: string): Redis =>
  new Redis(url, { maxRetriesPerRequest: null, connectTimeout: 5000, retryStrategy: reconnectDelayMs });

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
