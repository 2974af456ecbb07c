import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import { systemClock, type Clock } from '../clock.ts';
import type { Announce } from './revisions.ts';
import { writeAudit, type AuditEntry } from './audit/write-audit.ts';
import { updateOrganisation, type Organisation } from './organisation.ts';
import { transaction } from './transaction.ts';

/** A tenant as the admin operations show it. */
export interface TenantRow {
  no: number;
  id: string;
  customerId: string;
  name: string;
  status: 'active' | 'archived';
  created: Date;
  updated: Date;
}

/** What of a tenant the running processes hold. Number 0 is the organisation's own and has no customer ID. */
export interface KnownTenant {
  no: number;
  id: string;
  customerId: string | null;
}

/** Why one item of a bulk call was refused. */
export type TenantRefusal = 'taken' | 'unknown';

const COLUMNS = 'no, id, customer_id AS "customerId", name, status, created, updated';
const LISTED = `status = 'active' AND no > 0`;
const COUNTED = 'WITH counted AS (UPDATE organisation SET revision = revision + 1)';
const UNIQUE_VIOLATION = '23505';

/** The organisation and its tenants: stored in Postgres, the active ones held in memory as of the last `refresh`. */
export class Tenants {
  private readonly pool: Pool;
  private readonly announce: Announce;
  private readonly clock: Clock;
  private known = new Map<number, KnownTenant>();
  private knownByCustomerId = new Map<string, KnownTenant>();
  private settings: Organisation = { name: '', multiTenancy: false, controlShare: 0 };
  private refreshing: Promise<void> | null = null;
  private again = false;

  constructor({ pool, announce, clock = systemClock }: { pool: Pool; announce: Announce; clock?: Clock }) {
    this.pool = pool;
    this.announce = announce;
    this.clock = clock;
  }

  /**
   * Reads everything again: at start, and whenever a change is announced. What was known stays if it fails.
   * Simultaneous calls share the work, and each sees what was committed before it.
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

  organisation(): Organisation {
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

  /**
   * Sets what is given of the organisation's settings; all of them as they are now. `who`: the readable part of the
   * key that asks for it, as for all of these.
   */
  async updateOrganisation(changes: Partial<Organisation>, who: string): Promise<Organisation> {
    const updated = await this.audited(who, async (client, note) => {
      const { before, after, fields } = await updateOrganisation(client, changes);
      const of = (settings: Organisation): object => Object.fromEntries(fields.map((name) => [name, settings[name]]));
      if (fields.length > 0)
        note({ action: 'update', kind: 'organisation', name: after.name, before: of(before), after: of(after) });
      return after;
    });
    await this.changed();
    return updated;
  }

  /** Active tenants, oldest first. */
  async list({ limit, skip }: { limit: number; skip: number }): Promise<TenantRow[]> {
    const text = `SELECT ${COLUMNS} FROM tenants WHERE ${LISTED} ORDER BY no LIMIT $1 OFFSET $2`;
    return (await this.pool.query<TenantRow>(text, [limit, skip])).rows;
  }

  /** The active tenant with this ID (a UUID), or null. */
  async get(id: string): Promise<TenantRow | null> {
    const { rows } = await this.pool.query<TenantRow>(`SELECT ${COLUMNS} FROM tenants WHERE id = $1 AND ${LISTED}`, [
      id,
    ]);
    return rows[0] ?? null;
  }

  /** Creates each tenant whose customer ID is free; one outcome an item. */
  async create(items: { customerId: string; name: string }[], who: string): Promise<(TenantRow | TenantRefusal)[]> {
    const outcomes: (TenantRow | TenantRefusal)[] = [];
    for (const { customerId, name } of items) {
      const created = await this.audited(who, async (client, note) => {
        const { rows } = await client.query<TenantRow>(
          `${COUNTED} INSERT INTO tenants (id, customer_id, name, created, updated) VALUES ($1, $2, $3, $4, $4)
           ON CONFLICT (customer_id) WHERE status = 'active' DO NOTHING RETURNING ${COLUMNS}`,
          [uuid(), customerId, name, this.now()],
        );
        for (const { id } of rows) note({ action: 'create', kind: 'tenant', id, name: customerId });
        return rows[0] ?? 'taken';
      });
      outcomes.push(created);
    }
    if (outcomes.some((outcome) => outcome !== 'taken')) await this.changed();
    return outcomes;
  }

  /** Updates each active tenant, in order; one outcome an item. */
  async update(
    items: { id: string; customerId?: string; name?: string }[],
    who: string,
  ): Promise<(TenantRow | TenantRefusal)[]> {
    const outcomes: (TenantRow | TenantRefusal)[] = [];
    for (const item of items) outcomes.push(await this.updateOne(item, who));
    if (outcomes.some((outcome) => typeof outcome === 'object')) await this.changed();
    return outcomes;
  }

  /** Archives those of the tenants that are active; their IDs. Their data rests. */
  async delete(ids: string[], who: string): Promise<string[]> {
    const rows = await this.audited(who, async (client, note) => {
      const archived = await client.query<{ id: string; name: string }>(
        `${COUNTED} UPDATE tenants SET status = 'archived', updated = $2
          WHERE id = ANY($1::uuid[]) AND ${LISTED} RETURNING id, customer_id AS name`,
        [ids, this.now()],
      );
      for (const { id, name } of archived.rows) note({ action: 'delete', kind: 'tenant', id, name });
      return archived.rows;
    });
    if (rows.length > 0) await this.changed();
    return rows.map(({ id }) => id);
  }

  private async updateOne(
    { id, ...sent }: { id: string; customerId?: string; name?: string },
    who: string,
  ): Promise<TenantRow | TenantRefusal> {
    try {
      return await this.audited(who, async (client, note) => {
        const { rows } = await client.query<TenantRow>(
          `${COUNTED} UPDATE tenants SET customer_id = coalesce($2, customer_id), name = coalesce($3, name), updated = $4
            WHERE id = $1 AND ${LISTED} RETURNING ${COLUMNS}`,
          [id, sent.customerId ?? null, sent.name ?? null, this.now()],
        );
        const [row] = rows;
        if (row === undefined) return 'unknown';
        const { customerId, name } = row;
        note({ action: 'update', kind: 'tenant', id: row.id, name: customerId, after: { customerId, name } });
        return row;
      });
    } catch (error) {
      if ((error as { code?: string }).code === UNIQUE_VIOLATION) return 'taken';
      throw error;
    }
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

  /** Does something in a transaction, with what is to be noted of it. */
  private audited<T>(
    who: string,
    work: (client: PoolClient, note: (entry: AuditEntry) => void) => Promise<T>,
  ): Promise<T> {
    return transaction(this.pool, async (client) => {
      const entries: AuditEntry[] = [];
      const result = await work(client, (entry) => entries.push(entry));
      await writeAudit(client, { tenantNo: null, nowMs: this.clock.now(), who, entries });
      return result;
    });
  }

  private async changed(): Promise<void> {
    await Promise.all([this.refresh(), this.announce('*')]);
  }

  private async readUntilCurrent(): Promise<void> {
    try {
      do {
        this.again = false;
        await this.read();
      } while (this.again);
    } finally {
      // In the same turn as the last look at `again`: whoever asks after that is not told an older answer.
      this.refreshing = null;
    }
  }

  private async read(): Promise<void> {
    const [organisation, tenants] = await Promise.all([
      this.pool.query<Organisation>(
        'SELECT name, multi_tenancy AS "multiTenancy", control_share AS "controlShare" FROM organisation',
      ),
      this.pool.query<KnownTenant>(`SELECT no, id, customer_id AS "customerId" FROM tenants WHERE status = 'active'`),
    ]);
    const [settings] = organisation.rows;
    if (settings === undefined) throw new Error('The database holds no organisation.');
    this.settings = settings;
    this.known = new Map(tenants.rows.map((tenant) => [tenant.no, tenant]));
    this.knownByCustomerId = new Map(
      tenants.rows.flatMap((tenant) => (tenant.customerId === null ? [] : [[tenant.customerId, tenant]])),
    );
  }
}
