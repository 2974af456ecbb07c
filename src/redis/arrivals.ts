import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis, RedisOptions } from 'ioredis';
import { PatientRedis } from './patient-redis.ts';

/** A read that blocks for so much longer than it should has lost its connection, which nobody may have said. */
const OVERDUE_MS = 2_000;

/**
 * Waits for entries of streams that are empty at rest, without asking again and again: by a blocking read, on a connection
 * of its own. Costs nothing while nothing comes.
 */
export class Arrivals {
  private readonly redis: Redis;
  private readonly keys: () => readonly string[];
  private changed = new AbortController();

  /** `redis` is only copied; `keys` says which streams, at each wait. */
  constructor(redis: Redis, keys: () => readonly string[]) {
    this.keys = keys;
    // One that waits to reconnect must end what waits for it.
    this.redis = new PatientRedis({
      ...(redis.options as Omit<RedisOptions, 'replyMapping'>),
      lazyConnect: true,
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      // A read whose connection broke goes on over the next one.
      autoResendUnfulfilledCommands: true,
      // Silence is what is asked for here. (0 would be a time-out of no time.)
      socketTimeout: undefined,
    });
    // What is wrong with Redis shows elsewhere; this connection just comes back.
    this.redis.on('error', () => undefined);
  }

  /** Ends a wait under way: there are other streams to wait for. */
  again(): void {
    this.changed.abort();
    this.changed = new AbortController();
  }

  /**
   * Resolves when one of the streams has an entry, at once where one has; after `ms` at the latest (2 s more where Redis is
   * away), with `again`, and when it is called off. Says nothing: who waited looks.
   */
  async wait(ms: number, calledOff: AbortSignal): Promise<void> {
    if (calledOff.aborted) return;
    const ended = AbortSignal.any([calledOff, this.changed.signal]);
    const answered = new AbortController();
    const keys = this.keys();
    if (keys.length === 0) {
      await sleep(ms, undefined, { signal: ended }).catch(() => undefined);
      return;
    }
    const starts = keys.map(() => '0');
    const read = this.redis
      .xreadBuffer('COUNT', 1, 'BLOCK', ms, 'STREAMS', ...keys, ...starts)
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => answered.abort());
    const signal = AbortSignal.any([answered.signal, ended]);
    await sleep(ms + OVERDUE_MS, undefined, { signal }).catch(() => undefined);
    if (answered.signal.aborted) return;
    // A read that is left behind must not hold up the next one.
    this.redis.disconnect(!calledOff.aborted);
    if (calledOff.aborted) await read;
  }

  close(): void {
    this.redis.disconnect();
  }
}
