import type { Pool, PoolClient } from 'pg';
import { systemClock, type Clock } from '../clock.ts';
import type { Author } from '../domain/author.ts';
import { writeAudit, type AuditEntry } from './audit/write-audit.ts';
import { isUniqueViolation } from './is-unique-violation.ts';
import { readOrganisation, updateOrganisation, type OrganisationRow } from './organisation.ts';
import type { Announce } from './revisions.ts';
import {
  archiveTenants,
  getTenant,
  insertTenant,
  listTenants,
  readKnownTenants,
  updateTenant,
  type KnownTenant,
  type TenantRow,
} from './tenant-rows.ts';
import { transaction } from './transaction.ts';

/** Why one item of a bulk call was refused. */
export type TenantRefusal = 'taken' | 'unknown';

const RETRY_MS = 500;

export interface TenantsOptions {
  pool: Pool;
  announce: Announce;
  clock?: Clock;
  /** Called when what changed could not be read; it is tried again. */
  onFailed?: (error: unknown) => void;
}

/** The organisation and its tenants: stored in Postgres, the active ones held in memory as of the last `refresh`. */
export class Tenants {
  private readonly pool: Pool;
  private readonly announce: Announce;
  private readonly clock: Clock;
  private known = new Map<number, KnownTenant>();
  private knownByCustomerId = new Map<string, KnownTenant>();
  private settings: OrganisationRow = {
    name: '',
    multiTenancy: false,
    controlShare: 0,
    boardValues: 'byClient',
    branding: {},
    userActivationWindow: 7,
    aggregationPeriod: 'weekly',
  };
  private refreshing: Promise<void> | null = null;
  private again = false;
  private readonly onFailed: (error: unknown) => void;
  private retry: NodeJS.Timeout | undefined;
  private closed = false;

  constructor({ pool, announce, clock = systemClock, onFailed = () => undefined }: TenantsOptions) {
    this.pool = pool;
    this.announce = announce;
    this.clock = clock;
    this.onFailed = onFailed;
  }

  /** A change was announced: everything is read again, until that succeeds. Never rejects. */
  readonly organisationChanged = async (): Promise<void> => {
    clearTimeout(this.retry);
    try {
      await this.refresh();
    } catch (error) {
      if (this.closed) return;
      this.onFailed(error);
      clearTimeout(this.retry);
      this.retry = setTimeout(() => void this.organisationChanged(), RETRY_MS).unref();
    }
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

  /**
   * Sets what is given of the organisation's settings; all of them as they are now. `by`: who asks for it, as for all
   * of these.
   */
  async updateOrganisation(changes: Partial<OrganisationRow>, by: Author): Promise<OrganisationRow> {
    const updated = await this.audited(by, async (client, note) => {
      const { before, after, fields } = await updateOrganisation(client, changes);
      const of = (settings: OrganisationRow): object =>
        Object.fromEntries(fields.map((name) => [name, settings[name]]));
      if (fields.length > 0)
        note({ action: 'update', kind: 'organisation', name: after.name, before: of(before), after: of(after) });
      return after;
    });
    await this.changed();
    return updated;
  }

  /** Active tenants, oldest first. */
  list(page: { limit: number; skip: number }): Promise<TenantRow[]> {
    return listTenants(this.pool, page);
  }

  /** The active tenant with this ID (a UUID), or null. */
  get(id: string): Promise<TenantRow | null> {
    return getTenant(this.pool, id);
  }

  /** Creates each tenant whose customer ID is free; one outcome an item. */
  async create(items: { customerId: string; name: string }[], by: Author): Promise<(TenantRow | TenantRefusal)[]> {
    const outcomes: (TenantRow | TenantRefusal)[] = [];
    for (const { customerId, name } of items) {
      const created = await this.audited(by, async (client, note) => {
        const row = await insertTenant(client, { customerId, name, now: this.now() });
        if (row === null) return 'taken';
        note({ action: 'create', kind: 'tenant', id: row.id, name: customerId });
        return row;
      });
      outcomes.push(created);
    }
    if (outcomes.some((outcome) => outcome !== 'taken')) await this.changed();
    return outcomes;
  }

  /** Updates each active tenant, in order; one outcome an item. */
  async update(
    items: { id: string; customerId?: string; name?: string }[],
    by: Author,
  ): Promise<(TenantRow | TenantRefusal)[]> {
    const outcomes: (TenantRow | TenantRefusal)[] = [];
    for (const item of items) outcomes.push(await this.updateOne(item, by));
    if (outcomes.some((outcome) => typeof outcome === 'object')) await this.changed();
    return outcomes;
  }

  /** Archives those of the tenants that are active; their IDs. Their data rests. */
  async delete(ids: string[], by: Author): Promise<string[]> {
    const archived = await this.audited(by, async (client, note) => {
      const rows = await archiveTenants(client, { ids, now: this.now() });
      for (const { id, customerId } of rows) note({ action: 'delete', kind: 'tenant', id, name: customerId });
      return rows;
    });
    if (archived.length > 0) await this.changed();
    return archived.map(({ id }) => id);
  }

  private async updateOne(
    sent: { id: string; customerId?: string; name?: string },
    by: Author,
  ): Promise<TenantRow | TenantRefusal> {
    try {
      return await this.audited(by, async (client, note) => {
        const row = await updateTenant(client, { ...sent, now: this.now() });
        if (row === null) return 'unknown';
        const { customerId, name } = row;
        note({ action: 'update', kind: 'tenant', id: row.id, name: customerId, after: { customerId, name } });
        return row;
      });
    } catch (error) {
      if (isUniqueViolation(error)) return 'taken';
      throw error;
    }
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

  /** Does something in a transaction, with what is to be noted of it. */
  private audited<T>(
    by: Author,
    work: (client: PoolClient, note: (entry: AuditEntry) => void) => Promise<T>,
  ): Promise<T> {
    return transaction(this.pool, async (client) => {
      const entries: AuditEntry[] = [];
      const result = await work(client, (entry) => entries.push(entry));
      await writeAudit(client, { tenantNo: null, nowMs: this.clock.now(), by, entries });
      return result;
    });
  }

  private async changed(): Promise<void> {
    // It is stored: if this process cannot read it now, it does so later as the others do.
    await Promise.all([this.organisationChanged(), this.announce('*')]);
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
    const [settings, tenants] = await Promise.all([readOrganisation(this.pool), readKnownTenants(this.pool)]);
    this.settings = settings;
    this.known = new Map(tenants.map((tenant) => [tenant.no, tenant]));
    this.knownByCustomerId = new Map(
      tenants.flatMap((tenant) => (tenant.customerId === null ? [] : [[tenant.customerId, tenant]])),
    );
  }
}
