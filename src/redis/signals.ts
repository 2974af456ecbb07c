import type { Redis } from 'ioredis';
import { CHANGES_CHANNEL, CLOCK_CHANNEL, DELIVERIES_CHANNEL, LISTENED_CHANNEL } from './keys.ts';

/** The channel of each kind of signal; its messages are described there. */
const CHANNELS = {
  changes: CHANGES_CHANNEL,
  listened: LISTENED_CHANNEL,
  deliveries: DELIVERIES_CHANNEL,
  clock: CLOCK_CHANNEL,
} as const;

export type SignalKind = keyof typeof CHANNELS;

/** Receives the message of a signal, or null if signals may have been lost; the listener then checks for itself. */
export type SignalListener = (message: string | null) => void;

/**
 * Announces work or a change to all processes. A signal is only a hint: the work is stored first, and listeners also find it later
 * without the signal. So publishing never rejects and is never retried.
 */
export async function publishSignal(redis: Redis, kind: SignalKind, message: string): Promise<void> {
  await redis.publish(CHANNELS[kind], message).catch(() => undefined);
}

/**
 * Receives the signals of all processes over one connection. Subscribes only to kinds that have listeners. After each new subscription
 * it calls all listeners with null.
 */
export class Signals {
  private readonly redis: Redis;
  private readonly subscriber: Redis;
  private readonly listeners: Record<SignalKind, Set<SignalListener>> = {
    changes: new Set(),
    listened: new Set(),
    deliveries: new Set(),
    clock: new Set(),
  };

  /** `redis` stays the caller's to close. It publishes; the subscription has a copy of it. */
  constructor(redis: Redis) {
    this.redis = redis;
    this.subscriber = redis.duplicate({ lazyConnect: true, maxRetriesPerRequest: null, autoResubscribe: false });
    // Other connections report what is wrong with Redis. This one only connects again.
    this.subscriber.on('error', () => undefined);
    this.subscriber.on('message', (channel: string, message: string) => {
      for (const kind of this.kinds) if (CHANNELS[kind] === channel) this.call(kind, message);
    });
    this.subscriber.on('ready', () => void this.subscribe(this.kinds));
  }

  /** See `publishSignal`. */
  publish(kind: SignalKind, message: string): Promise<void> {
    return publishSignal(this.redis, kind, message);
  }

  /** Calls back with each signal of a kind from now on; the returned function ends that. */
  listen(kind: SignalKind, listener: SignalListener): () => void {
    const isFirst = this.listeners[kind].size === 0;
    this.listeners[kind].add(listener);
    if (isFirst && this.subscriber.status === 'ready') void this.subscribe([kind]);
    return () => void this.listeners[kind].delete(listener);
  }

  /** Begins. Resolves when the subscription is made, or when it turns out that Redis is away: then it is made later. */
  async start(): Promise<void> {
    const subscribed = new Promise<void>((resolve) => {
      const stop = this.listen('changes', () => (stop(), resolve()));
      this.subscriber.once('close', resolve);
    });
    await this.subscriber.connect().catch(() => undefined);
    await subscribed;
  }

  close(): void {
    for (const kind of this.kinds) this.listeners[kind].clear();
    this.subscriber.disconnect();
  }

  /** The kinds that somebody listens to. */
  private get kinds(): SignalKind[] {
    return (Object.keys(CHANNELS) as SignalKind[]).filter((kind) => this.listeners[kind].size > 0);
  }

  private call(kind: SignalKind, message: string | null): void {
    for (const listener of this.listeners[kind]) listener(message);
  }

  private async subscribe(kinds: readonly SignalKind[]): Promise<void> {
    try {
      await this.subscriber.subscribe(...kinds.map((kind) => CHANNELS[kind]));
      for (const kind of kinds) this.call(kind, null);
    } catch {
      // The connection is gone. The next one subscribes again.
    }
  }
}
