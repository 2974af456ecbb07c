import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { QUEUE_PREFIX } from './keys.ts';

/** The queue whose jobs say: this shard's outbox has something for Postgres. */
export const PERSIST_QUEUE = 'persist';

/** The queue whose jobs say: this shard has batches of events to be processed. */
export const BATCH_QUEUE = 'batch';

/** What a wake-up says. */
export interface ShardJob {
  shard: number;
}

/**
 * At most one job a shard in this time, from one process, by queue; the first one of a quiet shard goes out at once. A job costs
 * 0.3 to 0.5 ms of CPU in all, and with tenants on many shards each of them has its own. Who persists a shard looks again as
 * long after what it stored (`persister.ts`), so that sooner nobody would hear of it.
 */
const INTERVAL_MS = { [PERSIST_QUEUE]: 250, [BATCH_QUEUE]: 50 } as const;

/**
 * Wakes the workers of a queue, for one shard. A wake-up is a hint, never the truth: if one is lost the watch in
 * every worker finds the work (see `workers/watch.ts`), so nothing here waits, is retried or fails an event.
 */
export class WakeUp {
  private readonly redis: Redis;
  private readonly name: keyof typeof INTERVAL_MS;
  private queue: Queue<ShardJob> | null = null;
  private readonly timers = new Map<number, NodeJS.Timeout>();
  private readonly pending = new Set<number>();

  /** `redis`: from `createRedis`; it stays the caller's to close. */
  constructor(redis: Redis, name: keyof typeof INTERVAL_MS = PERSIST_QUEUE) {
    this.redis = redis;
    this.name = name;
  }

  /** Says that the shard has new work. To be called after the script's answer; returns at once. */
  touched(shard: number): void {
    if (this.timers.has(shard)) {
      this.pending.add(shard);
      return;
    }
    void this.add(shard);
    this.timers.set(shard, setTimeout(() => this.elapsed(shard), INTERVAL_MS[this.name]).unref());
  }

  /** Sends what is held back and lets go of the queue. */
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

  /**
   * One job a shard waits at most. A wake-up during a job makes one more job after it: the running one may have
   * read the stream just before the entry came.
   */
  private async add(shard: number): Promise<void> {
    if (this.redis.status !== 'ready') return;
    try {
      this.queue ??= this.open();
      await this.queue.add(this.name, { shard }, { deduplication: { id: String(shard), keepLastIfActive: true } });
    } catch {
      await this.letGo();
    }
  }

  /** A queue that meets a connection that is not established fails for ever, so it is opened late, and again. */
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
