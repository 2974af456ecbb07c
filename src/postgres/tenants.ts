import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import { type Clock, systemClock } from '../clock.ts';
import type { Author } from '../domain/administration/author.ts';
import { type AuditEntry, writeAudit } from './access/audit.ts';
import { HeldTenants, type HeldTenantsOptions } from './held-tenants.ts';
import { type OrganisationRow, updateOrganisation } from './organisation.ts';
import { type Announce, COUNT_REVISION, ORGANISATION_MESSAGE } from './revisions.ts';
import { isUniqueViolation, transaction } from './transaction.ts';

export type TenantRefusal = 'taken' | 'unknown';

interface TenantsOptions extends HeldTenantsOptions {
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
      const rows = await archiveTenants(client, ids, this.now());
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

  /** Notes that IDs of a tenant's users may stand for others. */
  async noteMerges(tenantNo: number): Promise<void> {
    if (this.byNo(tenantNo)?.hasMerges === true) return;
    await this.pool.query(`${COUNTED} UPDATE tenants SET has_merges = true WHERE no = $1 AND NOT has_merges`, [
      tenantNo,
    ]);
    await this.changed();
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

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
    await Promise.all([this.organisationChanged(), this.announce(ORGANISATION_MESSAGE)]);
  }
}

export interface TenantRow {
  no: number;
  id: string;
  customerId: string;
  name: string;
  status: 'active' | 'archived';
  created: Date;
  updated: Date;
}

const COLUMNS = 'no, id, customer_id AS "customerId", name, status, created, updated';
const LISTED = `status = 'active' AND no > 0`;
const COUNTED = `WITH counted AS (${COUNT_REVISION})`;

async function listTenants(pool: Pool, { limit, skip }: { limit: number; skip: number }): Promise<TenantRow[]> {
  const text = `SELECT ${COLUMNS} FROM tenants WHERE ${LISTED} ORDER BY no LIMIT $1 OFFSET $2`;
  return (await pool.query<TenantRow>(text, [limit, skip])).rows;
}

async function getTenant(pool: Pool, id: string): Promise<TenantRow | null> {
  const { rows } = await pool.query<TenantRow>(`SELECT ${COLUMNS} FROM tenants WHERE id = $1 AND ${LISTED}`, [id]);
  return rows[0] ?? null;
}

async function insertTenant(
  client: PoolClient,
  { customerId, name, now }: { customerId: string; name: string; now: Date },
): Promise<TenantRow | null> {
  const { rows } = await client.query<TenantRow>(
    `${COUNTED} INSERT INTO tenants (id, customer_id, name, created, updated) VALUES ($1, $2, $3, $4, $4)
     ON CONFLICT (customer_id) WHERE status = 'active' DO NOTHING RETURNING ${COLUMNS}`,
    [uuid(), customerId, name, now],
  );
  return rows[0] ?? null;
}

/** Updates an active tenant; `null` if there is none. A unique violation means that another one has the customer ID. */
async function updateTenant(
  client: PoolClient,
  { id, customerId, name, now }: { id: string; customerId?: string; name?: string; now: Date },
): Promise<TenantRow | null> {
  const { rows } = await client.query<TenantRow>(
    `${COUNTED} UPDATE tenants SET customer_id = coalesce($2, customer_id), name = coalesce($3, name), updated = $4
      WHERE id = $1 AND ${LISTED} RETURNING ${COLUMNS}`,
    [id, customerId ?? null, name ?? null, now],
  );
  return rows[0] ?? null;
}

/** Archives and returns those of the tenants that are active. */
async function archiveTenants(
  client: PoolClient,
  ids: readonly string[],
  now: Date,
): Promise<{ id: string; customerId: string }[]> {
  const { rows } = await client.query<{ id: string; customerId: string }>(
    `${COUNTED} UPDATE tenants SET status = 'archived', updated = $2
      WHERE id = ANY($1::uuid[]) AND ${LISTED} RETURNING id, customer_id AS "customerId"`,
    [ids, now],
  );
  return rows;
}
