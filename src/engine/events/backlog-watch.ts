import type { Redis } from 'ioredis';
import { wholeBacklog, wholeBacklogBytes } from '../../redis/outbox.ts';

/** How often the outboxes are measured: what is accepted past the limit meanwhile is small against the limit. */
const INTERVAL_MS = 200;
/** Every so many times their bytes are measured too, which costs Redis more: in all 1.4 % of it where most waits. */
const BYTES_EVERY = 5;

export interface BacklogWatchOptions {
  redis: Redis;
  /** Entries of the outbox, over all shards. */
  limit: number;
  /** Bytes of Redis that they take, over all shards. */
  limitBytes: number;
}

/** Knows whether more waits for Postgres than may wait, without asking Redis for each event. */
export class BacklogWatch {
  private tooMany = false;
  private tooLarge = false;
  private measured = 0;
  private timer: NodeJS.Timeout | null = null;
  private readonly options: BacklogWatchOptions;

  constructor(options: BacklogWatchOptions) {
    this.options = options;
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
  readonly exceeded = (): boolean => this.tooMany || this.tooLarge;

  /** Measures now. While Redis is away the last measure stands: events fail there by themselves. */
  async measure(): Promise<void> {
    const { redis, limit, limitBytes } = this.options;
    try {
      this.tooMany = (await wholeBacklog(redis)) >= limit;
      if (this.measured % BYTES_EVERY === 0) this.tooLarge = (await wholeBacklogBytes(redis)) >= limitBytes;
      this.measured += 1;
    } catch {
      // Redis is away.
    }
  }
}
