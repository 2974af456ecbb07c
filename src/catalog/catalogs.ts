import type { Pool } from 'pg';
import { AppError } from '../errors.ts';
import { catalogVersions, loadCatalog } from '../postgres/catalog.ts';
import type { ChangeListener } from './changes.ts';
import { compileCatalog, type CompiledCatalog } from './compiled-catalog.ts';

interface Loading {
  promise: Promise<CompiledCatalog>;
  /** A newer version was announced during this load, so another must follow. */
  stale: boolean;
}

const RETRY_MS = 500;

/**
 * Compiled catalogs in the memory of this process. A loaded catalog can be read without waiting. A newer version replaces it atomically once it is
 * loaded; until then, or if loading fails, the old one stays.
 */
export class Catalogs implements ChangeListener {
  private readonly pool: Pool;
  private readonly loaded = new Map<number, CompiledCatalog>();
  private readonly loading = new Map<number, Loading>();
  private retry: NodeJS.Timeout | undefined;
  private closed = false;

  constructor({ pool }: { pool: Pool }) {
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
    if (running !== undefined) return running.promise;
    const loading: Loading = { stale: false, promise: this.read(tenantNo, () => loading) };
    this.loading.set(tenantNo, loading);
    return loading.promise;
  }

  /** Resolves when the tenant's catalog, if loaded, has this version or a newer one. */
  async atLeast(tenantNo: number, version: number): Promise<void> {
    this.catalogChanged(tenantNo, version);
    await this.loading.get(tenantNo)?.promise;
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

  /** Stops retries. */
  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
  }

  private async read(tenantNo: number, self: () => Loading): Promise<CompiledCatalog> {
    try {
      // `self` is assigned by the time the first await returns.
      for (;;) {
        const catalog = await loadCatalog(this.pool, tenantNo);
        if (catalog === null) throw new AppError('not_found', 'There is no such tenant.');
        const current = this.loaded.get(tenantNo);
        const compiled =
          current !== undefined && current.catalog.version >= catalog.version ? current : compileCatalog(catalog);
        this.loaded.set(tenantNo, compiled);
        if (!self().stale) return compiled;
        self().stale = false;
      }
    } finally {
      this.loading.delete(tenantNo);
    }
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
