import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { QUEUE_PREFIX } from './keys.ts';

/** Queue of shards whose outbox has entries for Postgres. */
export const PERSIST_QUEUE = 'persist';

/** Queue of shards with batches of events to process. */
export const BATCH_QUEUE = 'batch';

export interface ShardJob {
  shard: number;
}

/**
 * Shortest time between two jobs for a shard from one process, by queue. The first one after a pause is sent immediately. A
 * persister checks its shard again after at least the same time (`persist/pauses.ts`), so more frequent jobs would have no effect.
 */
const INTERVAL_MS = { [PERSIST_QUEUE]: 250, [BATCH_QUEUE]: 50 } as const;

/** Wakes a queue's workers for a shard. Only a hint: the watch finds the work as well (`workers/watch.ts`). */
export class WakeUp {
  private readonly redis: Redis;
  private readonly name: keyof typeof INTERVAL_MS;
  private queue: Queue<ShardJob> | null = null;
  private readonly timers = new Map<number, NodeJS.Timeout>();
  private readonly pending = new Set<number>();

  constructor(redis: Redis, name: keyof typeof INTERVAL_MS = PERSIST_QUEUE) {
    this.redis = redis;
    this.name = name;
  }

  /** Announces new work on the shard. Call it after the script's reply. Returns immediately. */
  touched(shard: number): void {
    if (this.timers.has(shard)) {
      this.pending.add(shard);
      return;
    }
    void this.add(shard);
    this.timers.set(shard, setTimeout(() => this.elapsed(shard), INTERVAL_MS[this.name]).unref());
  }

  /** Sends delayed wake-ups and closes the queue. */
  async close(): Promise<void> {
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
    await Promise.all([...this.pending].map((shard) => this.add(shard)));
    this.pending.clear();
    await this.letGo();
  }

  private elapsed(shard: number): void {
    this.timers.delete(shard);
    if (this.pending.delete(shard)) this.touched(shard);
  }

  /** At most one job per shard waits; a running one may have read the stream too early. */
  private async add(shard: number): Promise<void> {
    if (this.redis.status !== 'ready') return;
    try {
      this.queue ??= this.open();
      await this.queue.add(this.name, { shard }, { deduplication: { id: String(shard), keepLastIfActive: true } });
    } catch {
      await this.letGo();
    }
  }

  /** A queue that is opened while the connection is down fails forever, so it is opened late and reopened. */
  private open(): Queue<ShardJob> {
    const queue = new Queue<ShardJob>(this.name, {
      connection: this.redis,
      prefix: QUEUE_PREFIX,
      skipWaitingForReady: true,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: 100 },
    });
    queue.on('error', () => undefined);
    return queue;
  }

  private async letGo(): Promise<void> {
    const queue = this.queue;
    this.queue = null;
    await queue?.close().catch(() => undefined);
  }
}
