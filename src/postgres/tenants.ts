import type { PoolClient } from 'pg';
import { systemClock, type Clock } from '../clock.ts';
import type { Author } from '../domain/author.ts';
import { writeAudit, type AuditEntry } from './audit/write-audit.ts';
import { HeldTenants, type HeldTenantsOptions } from './held-tenants.ts';
import { isUniqueViolation } from './is-unique-violation.ts';
import { updateOrganisation, type OrganisationRow } from './organisation.ts';
import type { Announce } from './revisions.ts';
import { archiveTenants, getTenant, insertTenant, listTenants, updateTenant, type TenantRow } from './tenant-rows.ts';
import { transaction } from './transaction.ts';

/** Why an item of a bulk call was refused. */
export type TenantRefusal = 'taken' | 'unknown';

export interface TenantsOptions extends HeldTenantsOptions {
  announce: Announce;
  clock?: Clock;
}

/** The organisation and its tenants in Postgres, and the data about them in memory. */
export class Tenants extends HeldTenants {
  private readonly announce: Announce;
  private readonly clock: Clock;

  constructor({ announce, clock = systemClock, ...held }: TenantsOptions) {
    super(held);
    this.announce = announce;
    this.clock = clock;
  }

  /** Changes some of the organisation's settings and returns all. `by`, here and below: who makes the change. */
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

  list(page: { limit: number; skip: number }): Promise<TenantRow[]> {
    return listTenants(this.pool, page);
  }

  /** The active tenant with this ID (a UUID), or null. */
  get(id: string): Promise<TenantRow | null> {
    return getTenant(this.pool, id);
  }

  /** Creates each tenant whose customer ID is free; one result per item. */
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

  /** Updates active tenants, in order; one result per item. */
  async update(
    items: { id: string; customerId?: string; name?: string }[],
    by: Author,
  ): Promise<(TenantRow | TenantRefusal)[]> {
    const outcomes: (TenantRow | TenantRefusal)[] = [];
    for (const item of items) outcomes.push(await this.updateOne(item, by));
    if (outcomes.some((outcome) => typeof outcome === 'object')) await this.changed();
    return outcomes;
  }

  /** Archives those of the tenants that are active and returns their IDs. Their data is kept. */
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

  /** Runs work in a transaction and records its audit entries. */
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
    // The change is stored. If this process cannot read it now, it does so later, like the others.
    await Promise.all([this.organisationChanged(), this.announce('*')]);
  }
}
