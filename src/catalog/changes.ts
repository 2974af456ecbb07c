import type { Pool } from 'pg';
import { Listener } from '../postgres/listener.ts';
import { readRevisions, REVISIONS_CHANNEL, type RevisionsSeen } from '../postgres/revisions.ts';
import type { Signals } from '../redis/signals.ts';
import { JOB_ADDED } from './announce.ts';

export interface ChangeListener {
  /** A tenant's catalog has this version, or a newer one. */
  catalogChanged?(tenantNo: number, version: number): void;
  /** Some catalogs may have changed; which ones is not known. */
  anyCatalogChanged?(): void;
  /** Keys, tenants or the organisation changed, or may have. */
  organisationChanged?(): void;
  /** A job was added, or is to be run again. */
  jobAdded?(): void;
  /** Somebody began to listen to the live streams of a tenant nobody listened to. */
  listenedTo?(): void;
  /**
   * Something was written to Postgres, whatever it was and whoever wrote it, since the counters were read before. Called when
   * they are read; never while nothing is written. Others who use the same server may be the writers.
   */
  written?(): void;
}

/** How often the counters are read while Postgres notifies nobody, and while it does. */
const POLL_MS = { alone: 500, notified: 5_000 };
/** How soon it is tried again to be notified: behind some proxies it never works. */
const LISTEN_AGAIN_MS = 30_000;

export interface ChangesOptions {
  /** A connection beside it is opened with its settings. */
  pool: Pool;
  /** The caller closes it. */
  signals: Signals;
  /** See `POLL_MS`. */
  pollMs?: { alone: number; notified: number };
}

/**
 * Notices changes made by any process: at once by Redis's pub/sub, and at once by Postgres, which notifies of the commit
 * that counted the change, also while Redis is away. Should both be lost, the two counters are looked at every 5 s; every
 * 0.5 s where Postgres's notifications do not arrive. Whenever one of the two is made again everything counts as changed, or
 * the counters are compared. The same look finds whether anything at all was written to Postgres: so nobody else has to
 * ask Postgres again and again while nothing is.
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
  /** A look at the counters is under way; `again`: they changed since it began. */
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

  /** Every change from now on is reported to the listener; the returned function ends that. */
  listen(listener: ChangeListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /**
   * Begins. Resolves when the subscription is made for the first time and the counters were read. While Redis is away nothing is waited
   * for: the subscription is made later, and everything counts as changed then.
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

  /** Looks at the counters now, and again in time. Never rejects. */
  private async look(): Promise<void> {
    if (this.closed) return;
    if (this.looking !== null) {
      this.looking.again = true;
      return;
    }
    clearTimeout(this.timer);
    this.beNotified();
    const looking = (this.looking = { again: false });
    // With Postgres away nothing is to be learned; requests say themselves that it is.
    await this.poll().catch(() => undefined);
    this.looking = null;
    if (this.closed) return;
    const { alone, notified } = this.pollMs;
    const restMs = this.listener.connection === null ? alone : notified;
    this.timer = setTimeout(() => void this.look(), looking.again ? 0 : restMs).unref();
  }

  /** Has Postgres notify this process, where it does not yet; what was counted before it does is looked at then. */
  private beNotified(): void {
    if (this.listener.connection !== null || performance.now() < this.listenAgainMs) return;
    this.listenAgainMs = performance.now() + LISTEN_AGAIN_MS;
    this.listener.open().then(
      () => void this.look(),
      () => undefined,
    );
  }

  /** Reads the counters: over the connection that notifies where there is one, which is dropped if it does not answer. */
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
