import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis, RedisOptions } from 'ioredis';
import { PatientRedis } from './patient-redis.ts';

/** A blocking read that is this late has lost its connection, possibly without an error. */
const OVERDUE_MS = 2_000;

/**
 * Waits for entries in streams that are usually empty, using a blocking read on its own connection instead of polling. While
 * idle it costs two commands per read, regardless of the number of streams.
 */
export class Arrivals {
  private readonly redis: Redis;
  /** The caller's connection. */
  private readonly server: Redis;
  private readonly keys: () => readonly string[];
  private changed = new AbortController();

  /** Duplicates `server` for the blocking read. `keys` returns the streams for each read. */
  constructor(server: Redis, keys: () => readonly string[]) {
    this.server = server;
    this.keys = keys;
    // Closing it must end pending waits even while it waits to reconnect.
    this.redis = new PatientRedis({
      ...(server.options as Omit<RedisOptions, 'replyMapping'>),
      lazyConnect: true,
      enableOfflineQueue: true,
      // A read must end with its connection. If it were sent again, a leftover read would delay the next one by its blocking time.
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      // Silence is normal for blocking reads. (0 would time out immediately.)
      socketTimeout: undefined,
    });
    // Other connections report problems with Redis; this one only reconnects.
    this.redis.on('error', () => undefined);
  }

  /** Ends the current wait because the set of streams changed. */
  again(): void {
    this.changed.abort();
    this.changed = new AbortController();
  }

  /**
   * Resolves when one of the streams has an entry (immediately if one already has), the connection breaks, `again` is called, or
   * `calledOff` aborts. The caller must check what happened. `blockMs`: blocking time of one read; reads repeat while they are empty.
   */
  async wait(blockMs: number, calledOff: AbortSignal): Promise<void> {
    while (await this.isEmpty(blockMs, calledOff));
  }

  /** Whether a read returned without entries. False also if that is unknown. */
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
      // The copy may stay connected to a former master, where no entries arrive. The caller's connection is monitored.
      if (await isNothing(this.server.xreadBuffer('COUNT', 1, 'STREAMS', ...streams))) return true;
    }
    // Reconnect, also so that a leftover read does not delay the next one.
    this.redis.disconnect(!calledOff.aborted);
    if (calledOff.aborted) await read;
    return false;
  }

  close(): void {
    this.redis.disconnect();
  }
}

/** Whether a read returned no entries; false if it failed. */
const isNothing = (read: Promise<unknown>): Promise<boolean> =>
  read.then(
    (found) => found === null,
    () => false,
  );
