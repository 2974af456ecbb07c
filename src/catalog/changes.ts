import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readRevisions, type Revisions } from '../postgres/revisions.ts';
import { CHANGES_CHANNEL } from '../redis/keys.ts';

export interface ChangeListener {
  /** A tenant's catalog has this version, or a newer one. */
  catalogChanged?(tenantNo: number, version: number): void;
  /** Some catalogs may have changed; which ones is not known. */
  anyCatalogChanged?(): void;
  /** Keys, tenants or the organisation changed, or may have. */
  organisationChanged?(): void;
}

const POLL_MS = 500;

/**
 * Notices changes made by any process: at once by pub/sub, and if a message is lost, by a look at two
 * counters in Postgres every `pollMs`. Whenever the subscription is made again everything counts as changed.
 */
export class Changes {
  private readonly pool: Pool;
  private readonly subscriber: Redis;
  private readonly pollMs: number;
  private readonly listeners = new Set<ChangeListener>();
  private seen: Revisions | null = null;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  /** `redis` is only copied: the subscription has a connection of its own. */
  constructor({ pool, redis, pollMs = POLL_MS }: { pool: Pool; redis: Redis; pollMs?: number }) {
    this.pool = pool;
    this.pollMs = pollMs;
    this.subscriber = redis.duplicate({ lazyConnect: true, maxRetriesPerRequest: null, autoResubscribe: false });
    // What is wrong with Redis shows elsewhere; this connection just comes back.
    this.subscriber.on('error', () => undefined);
    this.subscriber.on('message', (_channel, message) => this.notify(message));
    this.subscriber.on('ready', () => {
      this.subscriber.subscribe(CHANGES_CHANNEL).then(
        () => this.notify('*'),
        () => undefined,
      );
    });
  }

  /** Every change from now on is reported to the listener; the returned function ends that. */
  listen(listener: ChangeListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Begins. Resolves when the subscription is made for the first time and the counters were read. */
  async start(): Promise<void> {
    await this.poll();
    const subscribed = new Promise<void>((resolve) => {
      const stop = this.listen({ organisationChanged: () => (stop(), resolve()) });
    });
    await this.subscriber.connect();
    await subscribed;
    this.pollAgain();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.listeners.clear();
    this.subscriber.disconnect();
  }

  private notify(message: string): void {
    const separator = message.indexOf(':');
    for (const listener of this.listeners) {
      if (separator > 0)
        listener.catalogChanged?.(Number(message.slice(0, separator)), Number(message.slice(separator + 1)));
      else {
        listener.organisationChanged?.();
        listener.anyCatalogChanged?.();
      }
    }
  }

  private pollAgain(): void {
    if (this.closed) return;
    this.timer = setTimeout(() => {
      // With Postgres away nothing is to be learned; requests say themselves that it is.
      void this.poll()
        .catch(() => undefined)
        .finally(() => this.pollAgain());
    }, this.pollMs);
    this.timer.unref();
  }

  private async poll(): Promise<void> {
    const now = await readRevisions(this.pool);
    if (now === null || this.closed) return;
    const { seen } = this;
    this.seen = now;
    if (seen === null) return;
    for (const listener of this.listeners) {
      if (now.organisation !== seen.organisation) listener.organisationChanged?.();
      if (now.catalogs !== seen.catalogs) listener.anyCatalogChanged?.();
    }
  }
}
