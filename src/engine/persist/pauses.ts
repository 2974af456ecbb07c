import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAwaited, isStoredLater } from '../../redis/outbox.ts';

/**
 * Pause between batches that are not full, so that the events of a quarter of a second share a transaction. The first event
 * after an idle time does not wait.
 */
const PAUSE_MS = 250;
/** Above this many shards pauses grow, up to a second: a transaction costs the same for one event as for ten. */
const SHARDS_A_PAUSE = 8;
const MAX_PAUSE_MS = 1_000;
/**
 * Pause after a batch with many events, unless a caller waits for Postgres or messages about the events are to be sent. A
 * transaction has fixed costs, and writes a sum once for all events that change it. A Redis that is lost with its disk loses
 * the events of one pause, so it is not longer.
 */
const LONG_PAUSE_MS = 500;

/** How soon a shard is stored after its sweep, and how long that may take: about two million users. */
const LOOK_MS = 50;
const CATCH_UP_MS = 120_000;

interface PausesOptions {
  redis: Redis;
  gate?: { storageEpochOf(shard: number): string | null };
}

/** The times at which a persister waits: between batches, and while a shard is swept. */
export class Pauses {
  private readonly options: PausesOptions;
  /** When a shard's entries last waited for a sweep (`performance.now()`). */
  private readonly gaveWayAt = new Map<number, number>();
  /** By shard: aborting it ends the pause. */
  private readonly running = new Map<number, AbortController>();

  constructor(options: PausesOptions) {
    this.options = options;
  }

  /** Ends the pause of a shard. */
  end(shard: number): void {
    this.running.get(shard)?.abort();
  }

  /** Whether the shard's entries wait for a sweep (`src/redis/outbox.ts`), or waited recently and are not all stored. */
  gaveWay(shard: number): boolean {
    return performance.now() - (this.gaveWayAt.get(shard) ?? -Infinity) < CATCH_UP_MS;
  }

  /** All entries of the shard are stored. */
  caughtUp(shard: number): void {
    this.gaveWayAt.delete(shard);
  }

  /** Pauses before the next batch. A long pause ends when a caller waits who began after the last batch was read. */
  async afterBatch(
    shard: number,
    { readMs, shards, mayBeLong }: { readMs: number; shards: number; mayBeLong: boolean },
    hurry: AbortSignal | undefined,
  ): Promise<void> {
    const shortMs = pauseMs(shards);
    const endMs = performance.now() + (mayBeLong ? Math.max(shortMs, LONG_PAUSE_MS) : shortMs);
    for (let ms = shortMs; ms > 0; ms = Math.min(LOOK_MS, endMs - performance.now())) {
      if (await this.isHastened(shard, ms, hurry)) return;
      if (mayBeLong && (await isAwaited(this.options.redis, shard, performance.now() - readMs))) return;
    }
  }

  /** Waits while the shard's entries are to be stored later, because its users are being swept. */
  async whileSwept(shard: number, hurry: AbortSignal | undefined): Promise<void> {
    const { redis, gate } = this.options;
    while (hurry?.aborted !== true && gate?.storageEpochOf(shard) !== null && (await isStoredLater(redis, shard))) {
      this.gaveWayAt.set(shard, performance.now());
      if (await this.isHastened(shard, LOOK_MS, hurry)) return;
    }
  }

  /** Pauses. Returns whether `end` or `hurry` ended the pause. */
  private async isHastened(shard: number, ms: number, hurry: AbortSignal | undefined): Promise<boolean> {
    if (hurry?.aborted === true) return true;
    const ended = new AbortController();
    const end = (): void => ended.abort();
    hurry?.addEventListener('abort', end);
    this.running.set(shard, ended);
    await sleep(ms, undefined, { signal: ended.signal }).catch(() => undefined);
    if (this.running.get(shard) === ended) this.running.delete(shard);
    hurry?.removeEventListener('abort', end);
    return ended.signal.aborted;
  }
}

/** `shards`: how many are being stored. */
const pauseMs = (shards: number): number => Math.min(MAX_PAUSE_MS, PAUSE_MS * Math.max(1, shards / SHARDS_A_PAUSE));
