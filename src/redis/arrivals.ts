import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis, RedisOptions } from 'ioredis';
import { PatientRedis } from './patient-redis.ts';

/** A read that blocks for so much longer than it should has lost its connection, which nobody may have said. */
const OVERDUE_MS = 2_000;

/**
 * Waits for entries of streams that are empty at rest, without asking again and again: by a blocking read, on a connection
 * of its own. However many streams there are, at rest that is two commands in the time that a read blocks.
 */
export class Arrivals {
  private readonly redis: Redis;
  /** The caller's connection. */
  private readonly server: Redis;
  private readonly keys: () => readonly string[];
  private changed = new AbortController();

  /** The blocking read has a copy of the connection; `keys` says which streams, at each read. */
  constructor(server: Redis, keys: () => readonly string[]) {
    this.server = server;
    this.keys = keys;
    // One that waits to reconnect must end what waits for it.
    this.redis = new PatientRedis({
      ...(server.options as Omit<RedisOptions, 'replyMapping'>),
      lazyConnect: true,
      enableOfflineQueue: true,
      // A read whose connection broke ends with it: sent again, one that was left behind would hold up the next for as long as it blocks.
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
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
   * Resolves when one of the streams has an entry, at once where one has; where the connection breaks; with `again`; and when it is
   * called off. Says nothing: who waited looks. `blockMs`: how long one read blocks; those that find nothing follow one another.
   */
  async wait(blockMs: number, calledOff: AbortSignal): Promise<void> {
    while (await this.isEmpty(blockMs, calledOff));
  }

  /** Whether nothing came to any of the streams while a read blocked; false also where that is not known. */
  private async isEmpty(blockMs: number, calledOff: AbortSignal): Promise<boolean> {
    if (calledOff.aborted) return false;
    const ended = AbortSignal.any([calledOff, this.changed.signal]);
    const answered = new AbortController();
    const keys = this.keys();
    if (keys.length === 0) {
      await sleep(blockMs, undefined, { signal: ended }).catch(() => undefined);
      return !ended.aborted;
    }
    const streams = [...keys, ...keys.map(() => '0')];
    const read = isNothing(this.redis.xreadBuffer('COUNT', 1, 'BLOCK', blockMs, 'STREAMS', ...streams)).finally(() =>
      answered.abort(),
    );
    const signal = AbortSignal.any([answered.signal, ended]);
    await sleep(blockMs + OVERDUE_MS, undefined, { signal }).catch(() => undefined);
    if (answered.signal.aborted) {
      if (!(await read)) return false;
      // The copy may go on with a former master for ever, where nothing comes. The caller's connection is looked after.
      if (await isNothing(this.server.xreadBuffer('COUNT', 1, 'STREAMS', ...streams))) return true;
    }
    // Also: a read that is left behind must not hold up the next one.
    this.redis.disconnect(!calledOff.aborted);
    if (calledOff.aborted) await read;
    return false;
  }

  close(): void {
    this.redis.disconnect();
  }
}

/** Whether a read answered that there is nothing; false where it failed. */
const isNothing = (read: Promise<unknown>): Promise<boolean> =>
  read.then(
    (found) => found === null,
    () => false,
  );
