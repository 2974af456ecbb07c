import type { Pool } from 'pg';
import { AppError } from '../errors.ts';
import { SharedRuns } from '../shared-runs.ts';
import { readOrganisation, type OrganisationRow } from './organisation.ts';
import { readRevisions } from './revisions.ts';
import { succeedsWithin } from './succeeds-within.ts';
import { readKnownTenants, type KnownTenant } from './tenant-rows.ts';

/** How soon what could not be read is read again. */
const RETRY_MS = 500;

/** How `confirm` asks Postgres: this often at most, however many calls wait for it, */
const CONFIRM_EVERY_MS = 20;
/** for so long, */
const CONFIRM_WITHIN_MS = 2_000;
/** and for so long not again where it did not answer. */
const CONFIRM_PAUSE_MS = 5_000;

export interface HeldTenantsOptions {
  pool: Pool;
  /** Called when what changed could not be read; it is tried again. */
  onFailed?: ((error: unknown) => void) | undefined;
}

/** The organisation's settings and its active tenants, in memory as of the last `refresh`. */
export class HeldTenants {
  protected readonly pool: Pool;
  private known = new Map<number, KnownTenant>();
  private knownByCustomerId = new Map<string, KnownTenant>();
  private settings: OrganisationRow = {
    name: '',
    multiTenancy: false,
    controlShare: 0,
    boardValues: 'byClient',
    rateLimit: null,
    branding: {},
    userActivationWindow: 7,
    aggregationPeriod: 'weekly',
  };
  /** The counter of changes, as of a moment before these were read. */
  private revision: number | null = null;
  /** How many changes were announced, and how many of them had been when what is held was read. */
  private announced = 0;
  private announcedAtRead = 0;
  private refreshing: Promise<void> | null = null;
  private again = false;
  private readonly looks = new SharedRuns(() => this.look(), { everyMs: CONFIRM_EVERY_MS });
  private pausedUntilMs = -Infinity;
  private readonly onFailed: (error: unknown) => void;
  private retry: NodeJS.Timeout | undefined;
  private closed = false;

  constructor({ pool, onFailed = () => undefined }: HeldTenantsOptions) {
    this.pool = pool;
    this.onFailed = onFailed;
  }

  /** A change was announced: everything is read again, until that succeeds. Never rejects. */
  readonly organisationChanged = async (): Promise<void> => {
    this.announced += 1;
    await this.readAnnounced();
  };

  /** From now on nothing is tried again. */
  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
  }

  /**
   * Reads everything again. What was known stays if it fails. Simultaneous calls share the work, and each sees what was committed
   * before it.
   */
  refresh(): Promise<void> {
    if (this.refreshing !== null) {
      this.again = true;
      return this.refreshing;
    }
    this.refreshing = this.readUntilCurrent();
    return this.refreshing;
  }

  /**
   * Resolves when everything is held that was committed before the call. It reads one row, at most once in 20 ms, and all
   * only if something changed. Where Postgres does not answer in 2 s, and for 5 s from then on, what is held is believed:
   * it resolves, unless a change was announced that could not be read yet (503).
   */
  async confirm(): Promise<void> {
    const isConfirmed = await this.looks.run();
    if (!isConfirmed && this.announced !== this.announcedAtRead)
      throw new AppError('unavailable', 'Tenants or settings have changed and cannot be read yet; try again.');
  }

  multiTenancy(): boolean {
    return this.settings.multiTenancy;
  }

  organisation(): OrganisationRow {
    return this.settings;
  }

  /** The organisation's own tenant. Only after the first `refresh`. */
  default(): KnownTenant {
    const own = this.known.get(0);
    if (own === undefined) throw new Error('The tenants are not read yet.');
    return own;
  }

  /** An active tenant by the client's own ID. */
  byCustomerId(customerId: string): KnownTenant | undefined {
    return this.knownByCustomerId.get(customerId);
  }

  /** An active tenant, or the organisation's own, by its number. */
  byNo(no: number): KnownTenant | undefined {
    return this.known.get(no);
  }

  /** The numbers of the active tenants, and of the organisation's own. */
  numbers(): number[] {
    return [...this.known.keys()];
  }

  private async readAnnounced(): Promise<void> {
    clearTimeout(this.retry);
    try {
      await this.refresh();
    } catch (error) {
      if (this.closed) return;
      this.onFailed(error);
      clearTimeout(this.retry);
      this.retry = setTimeout(() => void this.readAnnounced(), RETRY_MS).unref();
    }
  }

  /** Reads what changed; whether Postgres answered in time. Never rejects. */
  private async look(): Promise<boolean> {
    if (performance.now() < this.pausedUntilMs) return false;
    const isDone = await succeedsWithin(this.readIfChanged(), CONFIRM_WITHIN_MS);
    if (!isDone) this.pausedUntilMs = performance.now() + CONFIRM_PAUSE_MS;
    return isDone;
  }

  private async readIfChanged(): Promise<void> {
    const revisions = await readRevisions(this.pool);
    if (revisions?.organisation !== this.revision) await this.refresh();
    // It may have come late: Postgres answers again.
    this.pausedUntilMs = -Infinity;
  }

  private async readUntilCurrent(): Promise<void> {
    try {
      do {
        this.again = false;
        await this.read();
      } while (this.again);
    } finally {
      // In the same turn as the last look at `again`: a later question gets no older answer.
      this.refreshing = null;
    }
  }

  private async read(): Promise<void> {
    const { announced } = this;
    // First: what is committed after it is read again by the next look, whether the rest holds it or not.
    const revisions = await readRevisions(this.pool);
    const [settings, tenants] = await Promise.all([readOrganisation(this.pool), readKnownTenants(this.pool)]);
    this.revision = revisions?.organisation ?? null;
    this.announcedAtRead = announced;
    this.settings = settings;
    this.known = new Map(tenants.map((tenant) => [tenant.no, tenant]));
    this.knownByCustomerId = new Map(
      tenants.flatMap((tenant) => (tenant.customerId === null ? [] : [[tenant.customerId, tenant]])),
    );
  }
}
