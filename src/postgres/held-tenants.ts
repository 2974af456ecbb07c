import type { Pool } from 'pg';
import { AppError } from '../errors.ts';
import { SharedRuns } from '../pacing/shared-runs.ts';
import { inTime, succeeds } from '../pacing/time-limit.ts';
import { type OrganisationRow, readOrganisation } from './organisation.ts';
import { readRevisions } from './revisions.ts';

/** Delay before a failed read is retried. */
const RETRY_MS = 500;

/** `confirm`: shortest time between queries, however many calls wait; */
const CONFIRM_EVERY_MS = 20;
/** time limit of a query; */
const CONFIRM_WITHIN_MS = 2_000;
/** pause after Postgres did not answer. */
const CONFIRM_PAUSE_MS = 5_000;

export interface HeldTenantsOptions {
  pool: Pool;
  /** Called when changed data could not be read. The read is retried. */
  onFailed?: ((error: unknown) => void) | undefined;
}

/** The organisation's settings and active tenants, in memory as of the last `refresh`. */
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
  /** The counter of changes shortly before this data was read. */
  private revision: number | null = null;
  /** Number of announced changes now, and when this data was read. */
  private announced = 0;
  private announcedAtRead = 0;
  private refreshing: Promise<void> | null = null;
  private again = false;
  private readonly confirmations = new SharedRuns(() => this.confirmOnce(), { everyMs: CONFIRM_EVERY_MS });
  private pausedUntilMs = -Infinity;
  private readonly onFailed: (error: unknown) => void;
  private retry: NodeJS.Timeout | undefined;
  private closed = false;

  constructor({ pool, onFailed = () => undefined }: HeldTenantsOptions) {
    this.pool = pool;
    this.onFailed = onFailed;
  }

  /** Handles the announcement of a change: reads everything again until that succeeds. Never rejects. */
  readonly organisationChanged = async (): Promise<void> => {
    this.announced += 1;
    await this.readAnnounced();
  };

  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
  }

  /** Reads everything again; keeps the old data on failure. Concurrent calls share the work. */
  refresh(): Promise<void> {
    if (this.refreshing !== null) {
      this.again = true;
      return this.refreshing;
    }
    this.refreshing = this.readUntilCurrent();
    return this.refreshing;
  }

  /**
   * Resolves when everything committed before the call is in memory. Reads one row, at most every 20 ms, and the rest only
   * if something changed. If Postgres does not answer within 2 s, the call and those of the next 5 s trust the data in
   * memory and resolve, unless an announced change could not be read yet (503).
   */
  async confirm(): Promise<void> {
    const isConfirmed = await this.confirmations.run();
    if (!isConfirmed && this.announced !== this.announcedAtRead)
      throw new AppError('unavailable', 'Changed tenants or settings cannot be read at the moment; try again.');
  }

  multiTenancy(): boolean {
    return this.settings.multiTenancy;
  }

  organisation(): OrganisationRow {
    return this.settings;
  }

  default(): KnownTenant {
    const own = this.known.get(0);
    if (own === undefined) throw new Error('The tenants have not been read yet.');
    return own;
  }

  byCustomerId(customerId: string): KnownTenant | undefined {
    return this.knownByCustomerId.get(customerId);
  }

  byNo(no: number): KnownTenant | undefined {
    return this.known.get(no);
  }

  /** Numbers of the active tenants and of the organisation's own. */
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

  private async confirmOnce(): Promise<boolean> {
    if (performance.now() < this.pausedUntilMs) return false;
    const isDone = await inTime(succeeds(this.readIfChanged()), CONFIRM_WITHIN_MS, false);
    if (!isDone) this.pausedUntilMs = performance.now() + CONFIRM_PAUSE_MS;
    return isDone;
  }

  private async readIfChanged(): Promise<void> {
    const revisions = await readRevisions(this.pool);
    if (revisions?.organisation !== this.revision) await this.refresh();
    // The answer may be late, but Postgres answers again.
    this.pausedUntilMs = -Infinity;
  }

  private async readUntilCurrent(): Promise<void> {
    try {
      do {
        this.again = false;
        await this.read();
      } while (this.again);
    } finally {
      // In the same turn as the last check of `again`, so that no later call gets an older answer.
      this.refreshing = null;
    }
  }

  private async read(): Promise<void> {
    const { announced } = this;
    // Read first, so that the next check repeats the read for anything committed after it.
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

/** The data about a tenant that processes keep in memory. Number 0 is the organisation's own tenant, without a customer ID. */
interface KnownTenant {
  no: number;
  id: string;
  customerId: string | null;
  /** Whether IDs of users may stand for others, after merges. */
  hasMerges: boolean;
}

async function readKnownTenants(pool: Pool): Promise<KnownTenant[]> {
  const { rows } = await pool.query<KnownTenant>(
    `SELECT no, id, customer_id AS "customerId", has_merges AS "hasMerges" FROM tenants WHERE status = 'active'`,
  );
  return rows;
}
