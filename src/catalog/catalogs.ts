import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import type { Catalog } from '../domain/catalog.ts';
import { AppError } from '../errors.ts';
import { catalogVersions, loadCatalog } from '../postgres/catalog.ts';
import {
  Listener,
  ORGANISATION_MESSAGE,
  readCredentialChanges,
  readRevisions,
  REVISIONS_CHANNEL,
  type RevisionsSeen,
} from '../postgres/revisions.ts';
import type { Signals } from '../redis/signals.ts';
import { SharedRuns } from '../pacing/shared-runs.ts';
import { CompiledCatalog } from './compiled-catalog.ts';
import { forAll, inOwnTurn } from '../pacing/turns.ts';

interface Loading {
  promise: Promise<CompiledCatalog>;
  /** A newer version was announced during this load, so another must follow. */
  stale: boolean;
}

const RETRY_MS = 500;

/** Compiled catalogs in memory. A newer version replaces the loaded one atomically; until then, the old one stays. */
export class Catalogs implements ChangeListener {
  private readonly pool: Pool;
  private readonly loaded = new Map<number, CompiledCatalog>();
  private readonly loading = new Map<number, Loading>();
  private retry: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(pool: Pool) {
    this.pool = pool;
  }

  get(tenantNo: number): CompiledCatalog | undefined {
    return this.loaded.get(tenantNo);
  }

  /** The catalog; synchronously if it is loaded. */
  of(tenantNo: number): CompiledCatalog | Promise<CompiledCatalog> {
    return this.loaded.get(tenantNo) ?? this.load(tenantNo);
  }

  /** Loads the current catalog from Postgres. Concurrent calls share one query. Error 404 for an unknown tenant. */
  load(tenantNo: number): Promise<CompiledCatalog> {
    const running = this.loading.get(tenantNo);
    if (running !== undefined) return inOwnTurn(running.promise);
    const loading: Loading = { stale: false, promise: forAll(() => this.read(tenantNo, () => loading)) };
    this.loading.set(tenantNo, loading);
    return inOwnTurn(loading.promise);
  }

  /** Resolves when the tenant's catalog, if loaded, has this version or a newer one. */
  async atLeast(tenantNo: number, version: number): Promise<void> {
    this.catalogChanged(tenantNo, version);
    const running = this.loading.get(tenantNo);
    if (running !== undefined) await inOwnTurn(running.promise);
  }

  catalogChanged(tenantNo: number, version: number): void {
    const current = this.loaded.get(tenantNo);
    const running = this.loading.get(tenantNo);
    if (current !== undefined && current.catalog.version >= version) return;
    if (running !== undefined) running.stale = true;
    // The catalog of a tenant that nobody has used yet is not loaded for a change.
    else if (current !== undefined) this.load(tenantNo).catch(() => this.retryLater());
  }

  anyCatalogChanged(): void {
    void this.compareVersions().catch(() => this.retryLater());
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
  }

  private async read(tenantNo: number, self: () => Loading): Promise<CompiledCatalog> {
    try {
      // `self` is assigned by the time the first await returns.
      for (;;) {
        const catalog = await loadCatalog(this.pool, tenantNo, this.loaded.get(tenantNo)?.catalog);
        if (catalog === null) throw new AppError('not_found', 'There is no such tenant.');
        const current = this.loaded.get(tenantNo)?.catalog;
        const isCurrent =
          current !== undefined &&
          (current.version > catalog.version ||
            (current.version === catalog.version && isDeepStrictEqual(current.keptRuns, catalog.keptRuns)));
        const compiled = isCurrent ? this.loaded.get(tenantNo)! : this.compile(catalog);
        this.loaded.set(tenantNo, compiled);
        if (!self().stale) return compiled;
        self().stale = false;
      }
    } finally {
      this.loading.delete(tenantNo);
    }
  }

  /** Reads the catalog again on the next day, because runs have become final. Until then, users keep more scores than they need to. */
  private compile(catalog: Catalog): CompiledCatalog {
    return new CompiledCatalog(catalog, () => {
      if (!this.closed) this.load(catalog.tenantNo).catch(() => undefined);
    });
  }

  private async compareVersions(): Promise<void> {
    for (const running of this.loading.values()) running.stale = true;
    const versions = await catalogVersions(this.pool, [...this.loaded.keys()]);
    for (const [tenantNo, version] of versions) this.catalogChanged(tenantNo, version);
  }

  private retryLater(): void {
    if (this.closed) return;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.anyCatalogChanged(), RETRY_MS);
    this.retry.unref();
  }
}

interface ChangeListener {
  catalogChanged?(tenantNo: number, version: number): void;
  /** Some catalogs may have changed; it is unknown which. */
  anyCatalogChanged?(): void;
  /** Admin keys, tenants or the organisation have changed, or may have. */
  organisationChanged?(): void;
  /** What these names stand for has changed or ended (see `countCredentialChange`); `null`: any may have. */
  credentialsChanged?(names: readonly string[] | null): void;
  /** Something was written to Postgres since the last call, by anyone. Called every few seconds at most. */
  written?(): void;
}

/** Interval of the backstop, without and with notifications from Postgres. */
const BACKSTOP_MS = { alone: 500, notified: 5_000 };
/** Shortest time between two reports that something was written; less than the interval of the backstop. */
const WRITTEN_MS = 4_000;
/** Delay before subscribing to notifications again. Behind some proxies this never works. */
const LISTEN_AGAIN_MS = 30_000;

export interface ChangesOptions {
  pool: Pool;
  /** The caller closes it. */
  signals: Signals;
  backstopMs?: { alone: number; notified: number };
}

/**
 * Detects changes made by any process, immediately: by signals, and by Postgres's notification of the commit that counted the change, which
 * also works while Redis is unreachable. When signals may have been lost, and at their backstop, it compares the two counters: every 5 s, or
 * every 0.5 s if Postgres's notifications do not arrive. The same read shows whether anything at all was written to Postgres, so no other
 * component has to poll it.
 */
export class Changes {
  private readonly pool: Pool;
  private readonly signals: Signals;
  private readonly backstopMs: { alone: number; notified: number };
  private readonly listener: Listener;
  private readonly listeners = new Set<ChangeListener>();
  private readonly refreshes = new SharedRuns(() => this.compare(), { everyMs: 0 });
  private stopListening = (): void => undefined;
  private seen: RevisionsSeen | null = null;
  /** The snapshot of the last report that something was written, and when that was. */
  private written = { snapshot: '', atMs: -Infinity };
  private listenAgainMs = 0;
  private closed = false;

  constructor({ pool, signals, backstopMs = BACKSTOP_MS }: ChangesOptions) {
    this.pool = pool;
    this.signals = signals;
    this.backstopMs = backstopMs;
    this.listener = new Listener({
      pool,
      channel: REVISIONS_CHANNEL,
      onNotification: () => void this.refresh(),
      onLost: () => {
        this.followSignals();
        void this.refresh();
      },
    });
  }

  listen(listener: ChangeListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Resolves when subscribed and up to date. If Redis is unreachable, subscribes later and catches up then. */
  async start(): Promise<void> {
    await this.compare();
    this.followSignals();
    await this.signals.start();
    await this.refresh();
  }

  close(): void {
    this.closed = true;
    this.listeners.clear();
    this.listener.close();
    this.stopListening();
  }

  /** Listens to signals, with the backstop that suits the connection to Postgres. */
  private followSignals(): void {
    if (this.closed) return;
    const stopBefore = this.stopListening;
    const { alone, notified } = this.backstopMs;
    const everyMs = this.listener.connection === null ? alone : notified;
    this.stopListening = this.signals.listen(
      'changes',
      (message) => (message === null ? void this.refresh() : this.notify(message)),
      everyMs,
    );
    stopBefore();
  }

  private notify(message: string): void {
    const separator = message.indexOf(':');
    for (const listener of this.listeners) {
      if (separator > 0)
        listener.catalogChanged?.(Number(message.slice(0, separator)), Number(message.slice(separator + 1)));
      else if (message === ORGANISATION_MESSAGE) listener.organisationChanged?.();
      else listener.credentialsChanged?.(message.slice(ORGANISATION_MESSAGE.length).split(','));
    }
  }

  /** Compares the counters. Never rejects: while Postgres is unreachable, requests report the outage themselves. */
  private async refresh(): Promise<void> {
    if (this.closed) return;
    this.beNotified();
    await this.refreshes.run().catch(() => undefined);
  }

  /** Subscribes to Postgres's notifications, if necessary, and then reads the changes counted before. */
  private beNotified(): void {
    if (this.listener.connection !== null || performance.now() < this.listenAgainMs) return;
    this.listenAgainMs = performance.now() + LISTEN_AGAIN_MS;
    this.listener.open().then(
      () => {
        this.followSignals();
        void this.refresh();
      },
      () => undefined,
    );
  }

  /** Reads the counters, over the connection for notifications if there is one. Drops that connection if it does not answer. */
  private async compare(): Promise<void> {
    const { connection } = this.listener;
    const now = await readRevisions(connection ?? this.pool).catch((error: unknown) => {
      if (connection !== null) this.listener.close();
      throw error;
    });
    if (now === null || this.closed) return;
    const { seen } = this;
    const credentials =
      seen === null || now.credentials === seen.credentials
        ? []
        : await readCredentialChanges(connection ?? this.pool, { after: seen.credentials, upTo: now.credentials });
    if (this.closed) return;
    this.seen = now;
    if (seen === null) {
      this.written.snapshot = now.snapshot;
      return;
    }
    const isWritten = now.snapshot !== this.written.snapshot && performance.now() - this.written.atMs >= WRITTEN_MS;
    if (isWritten) this.written = { snapshot: now.snapshot, atMs: performance.now() };
    for (const listener of this.listeners) {
      if (now.organisation !== seen.organisation) listener.organisationChanged?.();
      if (credentials === null || credentials.length > 0) listener.credentialsChanged?.(credentials);
      if (now.catalogs !== seen.catalogs) listener.anyCatalogChanged?.();
      if (isWritten) listener.written?.();
    }
  }
}
