import type { Redis } from 'ioredis';
import { DELIVERY_COUNTS_KEY } from './keys.ts';

/** Counts tries of deliveries to webhooks by how they ended, for the metrics of all frontends: some at a time. */
export class DeliveryCounts {
  private readonly redis: Redis;
  private counted = new Map<string, number>();
  private timer: NodeJS.Timeout | null = null;

  constructor(redis: Redis) {
    this.redis = redis;
  }

  /** Counts one. */
  note(outcome: string): void {
    this.counted.set(outcome, (this.counted.get(outcome) ?? 0) + 1);
    this.timer ??= setTimeout(() => void this.flush(), WITHIN_MS).unref();
  }

  /** Writes what was counted so far; with Redis away it is lost. */
  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const { counted } = this;
    this.counted = new Map();
    const added = [...counted].map(([outcome, count]) => this.redis.hincrby(DELIVERY_COUNTS_KEY, outcome, count));
    await Promise.all(added).catch(() => undefined);
  }
}

const WITHIN_MS = 1_000;

/** How many tries ended in each way; ways in which none did are missing. A Redis that is rebuilt counts on. */
export async function deliveryCounts(redis: Redis): Promise<Map<string, number>> {
  const counts = Object.entries(await redis.hgetall(DELIVERY_COUNTS_KEY));
  return new Map(counts.map(([outcome, count]) => [outcome, Number(count)]));
}
