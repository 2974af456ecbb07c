import type { Pool } from 'pg';
import { Listener } from '../postgres/listener.ts';
import { readRevisions, REVISIONS_CHANNEL, type RevisionsSeen } from '../postgres/revisions.ts';
import type { Signals } from '../redis/signals.ts';
import { JOB_ADDED } from './announce.ts';

export interface ChangeListener {
  /** A tenant's catalog has this version or a newer one. */
  catalogChanged?(tenantNo: number, version: number): void;
  /** Some catalogs may have changed; it is unknown which. */
  anyCatalogChanged?(): void;
  /** Keys, tenants or the organisation have changed, or may have. */
  organisationChanged?(): void;
  /** A job was added or restarted. */
  jobAdded?(): void;
  /** A tenant's live streams got their first listener. */
  listenedTo?(): void;
  /**
   * Something was written to Postgres since the counters were last read, by anyone, including other users of the same server. Called when
   * the counters are read, and never while nothing is written.
   */
  written?(): void;
}

/** Interval of reading the counters, without and with notifications from Postgres. */
const POLL_MS = { alone: 500, notified: 5_000 };
/** Delay before subscribing to notifications again. Behind some proxies this never works. */
const LISTEN_AGAIN_MS = 30_000;

export interface ChangesOptions {
  /** Its settings are used for a separate connection. */
  pool: Pool;
  /** The caller closes it. */
  signals: Signals;
  /** Defaults to `POLL_MS`. */
  pollMs?: { alone: number; notified: number };
}

/**
 * Detects changes made by any process, immediately: by Redis's pub/sub, and by Postgres's notification of the commit that counted the
 * change, which also works while Redis is unreachable. As a fallback, it reads the two counters every 5 s, or every 0.5 s if Postgres's
 * notifications do not arrive. After each reconnect everything counts as changed, or the counters are compared. The same read shows
 * whether anything at all was written to Postgres, so no other component has to poll it.
 */
export class Changes {
  private readonly pool: Pool;
  private readonly signals: Signals;
  private readonly stopListening: (() => void)[];
  private readonly pollMs: { alone: number; notified: number };
  private readonly listener: Listener;
  private readonly listeners = new Set<ChangeListener>();
  private seen: RevisionsSeen | null = null;
  private timer: NodeJS.Timeout | undefined;
  /** The counters are being read. `again`: they changed since. */
  private looking: { again: boolean } | null = null;
  private listenAgainMs = 0;
  private closed = false;

  constructor({ pool, signals, pollMs = POLL_MS }: ChangesOptions) {
    this.pool = pool;
    this.pollMs = pollMs;
    const look = (): void => void this.look();
    this.listener = new Listener({ pool, channel: REVISIONS_CHANNEL, onNotification: look, onLost: look });
    this.signals = signals;
    this.stopListening = [
      signals.listen('changes', (message) => this.notify(message ?? '*')),
      signals.listen('listened', () => this.notifyListened()),
    ];
  }

  /** Reports every later change to the listener. Returns a function that stops this. */
  listen(listener: ChangeListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /**
   * Resolves when the subscription exists and the counters have been read. If Redis is unreachable, it does not wait: it subscribes later, and
   * everything counts as changed then.
   */
  async start(): Promise<void> {
    await this.poll();
    await this.signals.start();
    await this.look();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.listeners.clear();
    this.listener.close();
    for (const stop of this.stopListening) stop();
  }

  private notify(message: string): void {
    const separator = message.indexOf(':');
    for (const listener of this.listeners) {
      if (message === JOB_ADDED) listener.jobAdded?.();
      else if (separator > 0)
        listener.catalogChanged?.(Number(message.slice(0, separator)), Number(message.slice(separator + 1)));
      else {
        listener.organisationChanged?.();
        listener.anyCatalogChanged?.();
      }
    }
  }

  private notifyListened(): void {
    for (const listener of this.listeners) listener.listenedTo?.();
  }

  /** Reads the counters now and schedules the next read. Never rejects. */
  private async look(): Promise<void> {
    if (this.closed) return;
    if (this.looking !== null) {
      this.looking.again = true;
      return;
    }
    clearTimeout(this.timer);
    this.beNotified();
    const looking = (this.looking = { again: false });
    // While Postgres is unreachable there is nothing to learn; requests report the outage themselves.
    await this.poll().catch(() => undefined);
    this.looking = null;
    if (this.closed) return;
    const { alone, notified } = this.pollMs;
    const restMs = this.listener.connection === null ? alone : notified;
    this.timer = setTimeout(() => void this.look(), looking.again ? 0 : restMs).unref();
  }

  /** Subscribes to Postgres's notifications, if necessary, and then reads the changes counted before. */
  private beNotified(): void {
    if (this.listener.connection !== null || performance.now() < this.listenAgainMs) return;
    this.listenAgainMs = performance.now() + LISTEN_AGAIN_MS;
    this.listener.open().then(
      () => void this.look(),
      () => undefined,
    );
  }

  /** Reads the counters, over the connection for notifications if there is one. Drops that connection if it does not answer. */
  private async poll(): Promise<void> {
    const { connection } = this.listener;
    const now = await readRevisions(connection ?? this.pool).catch((error: unknown) => {
      if (connection !== null) this.listener.close();
      throw error;
    });
    if (now === null || this.closed) return;
    const { seen } = this;
    this.seen = now;
    if (seen === null) return;
    for (const listener of this.listeners) {
      if (now.organisation !== seen.organisation) listener.organisationChanged?.();
      if (now.catalogs !== seen.catalogs) listener.anyCatalogChanged?.();
      if (now.snapshot !== seen.snapshot) listener.written?.();
    }
  }
}
