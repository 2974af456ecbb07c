import type { Redis } from 'ioredis';
import { v7 as uuid } from 'uuid';
import { DELIVERIES_CHANNEL } from './keys.ts';

/** Shortest time between hints of one process. Each hint makes every worker query Postgres. */
const INTERVAL_MS = 50;

/**
 * Announces to all processes that webhook messages were queued. Only the holder of a webhook's lease sends them, and it can
 * be any process. Hints are an optimisation: after a lost hint, workers find the messages within 10 seconds.
 */
export class DeliveryHints {
  private readonly redis: Redis;
  private readonly id = uuid();
  private subscriber: Redis | null = null;
  private timer: NodeJS.Timeout | null = null;
  private pending = false;

  /** The caller closes `redis`. */
  constructor(redis: Redis) {
    this.redis = redis;
  }

  /** Sends a hint to the other processes; call it after the commit. Returns immediately. */
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

  /** Calls `listener` on every hint of another process and whenever one may have been lost. Uses its own connection. */
  listen(listener: () => void): void {
    const subscriber = this.redis.duplicate({
      lazyConnect: true,
      maxRetriesPerRequest: null,
      autoResubscribe: false,
    });
    // Other connections report problems with Redis; this one only reconnects.
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
