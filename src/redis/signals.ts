import type { Redis } from 'ioredis';

/** The kinds of signals. The message of a signal, on the pub/sub channel `channelOf`, names the work. */
export type SignalKind =
  /**
   * `<tenant no>:<version>`: a tenant's catalog changed; `*`: admin keys, tenants or the organisation did; `*<name>,<name>`: these
   * credentials did (see `countCredentialChange`).
   */
  | 'changes'
  | 'jobs'
  /** The number of a tenant whose live streams got their first listener. */
  | 'listened'
  | 'clock'
  | 'deliveries'
  /** Numbers of shards with new outbox entries, or new notifications for live streams. */
  | 'outbox'
  /** Numbers of shards of whose outbox Postgres holds more. */
  | 'stored'
  /** Numbers of shards with new batches of events. */
  | 'batches';

/** Shortest time between two messages of one process; announcements in between share the next one. */
const SPACING_MS = { deliveries: 50, outbox: 20, stored: 20, batches: 20 } as const;

export type FrequentKind = keyof typeof SPACING_MS;

/** Receives the message of a signal, or null if signals may have been lost; the listener then checks for itself. */
export type SignalListener = (message: string | null) => void;

interface Subscription {
  kind: SignalKind;
  listener: SignalListener;
  everyMs: number;
  /** When it is next called with null (`performance.now()`). */
  dueMs: number;
}

export const channelOf = (kind: SignalKind): string => `laurel:${kind}`;

/** Announces work or a change. Only a hint, so it never rejects and is never retried. */
export async function publishSignal(redis: Redis, kind: SignalKind, message: string): Promise<void> {
  await redis.publish(channelOf(kind), message).catch(() => undefined);
}

/**
 * Wakes listeners for work or changes, on the signals of all processes (over one connection) and on one timer, the backstop for lost
 * signals. Subscribes only to kinds that have listeners. After each new subscription it calls all listeners with null.
 */
export class Signals {
  private readonly redis: Redis;
  private readonly subscriber: Redis;
  private readonly subscriptions = new Set<Subscription>();
  private timer: NodeJS.Timeout | undefined;
  /** Items for the next message of a kind. While a kind is listed, its last message is recent. */
  private readonly waiting = new Map<FrequentKind, { items: Set<number | string>; timer: NodeJS.Timeout }>();

  /** The caller closes `redis`, which publishes. The subscription uses a duplicate. */
  constructor(redis: Redis) {
    this.redis = redis;
    this.subscriber = redis.duplicate({ lazyConnect: true, maxRetriesPerRequest: null, autoResubscribe: false });
    // Other connections report problems with Redis. This one only reconnects.
    this.subscriber.on('error', () => undefined);
    this.subscriber.on('message', (channel: string, message: string) => {
      for (const each of this.subscriptions) if (channelOf(each.kind) === channel) each.listener(message);
    });
    this.subscriber.on(
      'ready',
      () => void this.subscribe([...new Set([...this.subscriptions].map(({ kind }) => kind))]),
    );
  }

  /** See `publishSignal`. */
  publish(kind: SignalKind, message: string): Promise<void> {
    return publishSignal(this.redis, kind, message);
  }

  /** Announces an item that is already stored: immediately, or together with others (`SPACING_MS`). Returns immediately. */
  announce(kind: FrequentKind, item: number | string): void {
    const waiting = this.waiting.get(kind);
    if (waiting !== undefined) waiting.items.add(item);
    else this.announceAll(kind, [item]);
  }

  /** Calls the listener on signals of a kind, and with null every `everyMs`. Returns a function that removes it. */
  listen(kind: SignalKind, listener: SignalListener, everyMs = Infinity): () => void {
    const subscription: Subscription = { kind, listener, everyMs, dueMs: dueAfter(everyMs) };
    const isFirst = !this.hasListeners(kind);
    this.subscriptions.add(subscription);
    if (isFirst && this.subscriber.status === 'ready') void this.subscribe([kind]);
    this.setTimer();
    return () => {
      if (!this.subscriptions.delete(subscription)) return;
      this.setTimer();
      if (!this.hasListeners(kind) && this.subscriber.status === 'ready')
        this.subscriber.unsubscribe(channelOf(kind)).catch(() => undefined);
    };
  }

  /** Resolves when subscribed, or when Redis turns out to be unreachable; it then subscribes later. */
  async start(): Promise<void> {
    const subscribed = new Promise<void>((resolve) => {
      const stop = this.listen('changes', () => (stop(), resolve()));
      this.subscriber.once('close', resolve);
    });
    await this.subscriber.connect().catch(() => undefined);
    await subscribed;
  }

  /** Sends waiting announcements and closes. */
  async close(): Promise<void> {
    this.subscriptions.clear();
    clearTimeout(this.timer);
    this.subscriber.disconnect();
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const [, { timer }] of waiting) clearTimeout(timer);
    await Promise.all(
      waiting.flatMap(([kind, { items }]) => (items.size === 0 ? [] : [this.publish(kind, [...items].join(' '))])),
    );
  }

  private announceAll(kind: FrequentKind, items: readonly (number | string)[]): void {
    void this.publish(kind, items.join(' '));
    const timer = setTimeout(() => {
      const later = this.waiting.get(kind)!.items;
      this.waiting.delete(kind);
      if (later.size > 0) this.announceAll(kind, [...later]);
    }, SPACING_MS[kind]).unref();
    this.waiting.set(kind, { items: new Set(), timer });
  }

  private hasListeners(kind: SignalKind): boolean {
    return [...this.subscriptions].some((each) => each.kind === kind);
  }

  private setTimer(): void {
    clearTimeout(this.timer);
    const dueMs = Math.min(...[...this.subscriptions].map((each) => each.dueMs));
    if (dueMs === Infinity) return;
    this.timer = setTimeout(() => {
      const nowMs = performance.now();
      this.check((each) => each.dueMs <= nowMs);
      this.setTimer();
    }, dueMs - performance.now()).unref();
  }

  /** Calls listeners with null, so that they check for themselves. */
  private check(isMeant: (subscription: Subscription) => boolean): void {
    for (const each of [...this.subscriptions].filter(isMeant)) {
      each.dueMs = dueAfter(each.everyMs);
      each.listener(null);
    }
  }

  private async subscribe(kinds: readonly SignalKind[]): Promise<void> {
    // If the connection is gone, the next one subscribes again. If Redis refuses, the backstop must suffice.
    await this.subscriber.subscribe(...kinds.map(channelOf)).catch(() => undefined);
    this.check(({ kind }) => kinds.includes(kind));
  }
}

/** The next multiple of an interval, so that listeners with related intervals are called at the same time. */
const dueAfter = (everyMs: number): number =>
  everyMs === Infinity ? Infinity : (Math.floor(performance.now() / everyMs) + 1) * everyMs;
