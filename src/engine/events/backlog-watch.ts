import type { Redis } from 'ioredis';
import { wholeBacklog } from '../../redis/outbox.ts';

/** How often the outboxes are measured: what is accepted past the limit meanwhile is small against the limit. */
const INTERVAL_MS = 200;

/** Knows whether more waits for Postgres than may wait, without asking Redis for each event. */
export class BacklogWatch {
  private full = false;
  private timer: NodeJS.Timeout | null = null;
  private readonly redis: Redis;
  private readonly limit: number;

  /** `limit`: entries of the outbox, over all shards. */
  constructor({ redis, limit }: { redis: Redis; limit: number }) {
    this.redis = redis;
    this.limit = limit;
  }

  start(): void {
    let measuring = false;
    this.timer = setInterval(() => {
      // A Redis that hangs gets no more questions than one.
      if (measuring) return;
      measuring = true;
      void this.measure().finally(() => (measuring = false));
    }, INTERVAL_MS).unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** Whether no event may be taken now. */
  readonly exceeded = (): boolean => this.full;

  /** Measures now. While Redis is away the last measure stands: events fail there by themselves. */
  async measure(): Promise<void> {
    try {
      this.full = (await wholeBacklog(this.redis)) >= this.limit;
    } catch {
      // Redis is away.
    }
  }
}
