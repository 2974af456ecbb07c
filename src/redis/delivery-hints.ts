import type { Redis } from 'ioredis';
import { v7 as uuid } from 'uuid';
import { DELIVERIES_CHANNEL } from './keys.ts';

/** At most one hint in this time, from one process: each has every worker look into Postgres. */
const INTERVAL_MS = 50;

/**
 * Says in all processes that messages for webhooks were queued: the one that has to send them is the holder of the webhook's
 * lease, whichever that is, so every one hears of it. A hint is never the truth: nothing waits for it, and one that
 * is lost costs the 10 seconds until a worker looks by itself.
 */
export class DeliveryHints {
  private readonly redis: Redis;
  private readonly id = uuid();
  private subscriber: Redis | null = null;
  private timer: NodeJS.Timeout | null = null;
  private pending = false;

  /** `redis` stays the caller's to close. */
  constructor(redis: Redis) {
    this.redis = redis;
  }

  /** Says so to the others, after the commit; returns at once. */
  queued(): void {
    if (this.timer !== null) {
      this.pending = true;
      return;
    }
    this.publish();
    this.timer = setTimeout(() => {
      this.timer = null;
      if (!this.pending) return;
      this.pending = false;
      this.queued();
    }, INTERVAL_MS).unref();
  }

  /** Calls back with every hint of another process, and whenever one may have been lost; over a connection of its own. */
  listen(listener: () => void): void {
    const subscriber = this.redis.duplicate({
      lazyConnect: true,
      maxRetriesPerRequest: null,
      autoResubscribe: false,
    });
    // What is wrong with Redis shows elsewhere; this connection just comes back.
    subscriber.on('error', () => undefined);
    subscriber.on('message', (_channel: string, from: string) => from === this.id || listener());
    subscriber.on('ready', () => void subscriber.subscribe(DELIVERIES_CHANNEL).then(listener, () => undefined));
    this.subscriber = subscriber;
    subscriber.connect().catch(() => undefined);
  }

  close(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.pending) this.publish();
    this.subscriber?.disconnect();
  }

  private publish(): void {
    if (this.redis.status === 'ready') this.redis.publish(DELIVERIES_CHANNEL, this.id).catch(() => undefined);
  }
}
