import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import { type Clock, systemClock } from '../clock.ts';
import type { OrganisationSettings } from '../domain/administration/admin.ts';
import type { Author } from '../domain/administration/author.ts';
import type { Branding, Settings } from '../domain/settings.ts';
import { AppError } from '../errors.ts';
import { SharedRuns } from '../shared-runs.ts';
import { inTime, succeeds } from '../time-limit.ts';
import { type AuditEntry, writeAudit } from './access/audit.ts';
import { type Announce, COUNT_REVISION, countRevision, readRevisions } from './revisions.ts';
import { isUniqueViolation, transaction } from './transaction.ts';

/** Delay before a failed read is retried. */
const RETRY_MS = 500;

/** `confirm`: shortest time between queries, however many calls wait; */
const CONFIRM_EVERY_MS = 20;
/** time limit of a query; */
const CONFIRM_WITHIN_MS = 2_000;
/** pause after Postgres did not answer. */
const CONFIRM_PAUSE_MS = 5_000;

interface HeldTenantsOptions {
  pool: Pool;
  /** Called when changed data could not be read. The read is retried. */
  onFailed?: ((error: unknown) => void) | undefined;
}

/** The organisation's settings and active tenants, in memory as of the last `refresh`. */
class HeldTenants {
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
    await Promise.all([this.organisationChanged(), this.announce('*')]);
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

/** The data about a tenant that processes keep in memory. Number 0 is the organisation's own tenant, without a customer ID. */
interface KnownTenant {
  no: number;
  id: string;
  customerId: string | null;
  /** Whether IDs of users may stand for others, after merges. */
  hasMerges: boolean;
}

const COLUMNS = 'no, id, customer_id AS "customerId", name, status, created, updated';
const LISTED = `status = 'active' AND no > 0`;
const COUNTED = `WITH counted AS (${COUNT_REVISION})`;

async function readKnownTenants(pool: Pool): Promise<KnownTenant[]> {
  const { rows } = await pool.query<KnownTenant>(
    `SELECT no, id, customer_id AS "customerId", has_merges AS "hasMerges" FROM tenants WHERE status = 'active'`,
  );
  return rows;
}

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

export interface OrganisationRow extends OrganisationSettings {
  /** Only fields that were set. */
  branding: Partial<Branding>;
  userActivationWindow: number;
  aggregationPeriod: Settings['aggregationPeriod'];
}

const SETTING_COLUMNS: Readonly<Record<keyof OrganisationRow, string>> = {
  name: 'name',
  multiTenancy: 'multi_tenancy',
  controlShare: 'control_share',
  boardValues: 'board_values',
  rateLimit: 'rate_limit',
  branding: 'branding',
  userActivationWindow: 'user_activation_window',
  aggregationPeriod: 'aggregation_period',
};
const NAMES = Object.keys(SETTING_COLUMNS) as (keyof OrganisationRow)[];
const SELECTED = NAMES.map((name) => `${SETTING_COLUMNS[name]} AS "${name}"`).join(', ');

/** Stands for a limit of `null`, which clears the setting. Any other `null` means "not sent". */
const NO_LIMIT_SET = -1;

/** Branding is merged with the previous one; other settings are replaced. */
const ASSIGNED = NAMES.map((name, index) => {
  const column = SETTING_COLUMNS[name];
  const sent = `$${index + 1}`;
  if (name === 'branding') return `${column} = ${column} || coalesce(${sent}::jsonb, '{}')`;
  if (name === 'rateLimit') return `${column} = nullif(coalesce(${sent}::integer, ${column}), ${NO_LIMIT_SET})`;
  return `${column} = coalesce(${sent}, ${column})`;
}).join(', ');

export async function readOrganisation(pool: Pool): Promise<OrganisationRow> {
  const { rows } = await pool.query<OrganisationRow>(`SELECT ${SELECTED} FROM organisation`);
  const [settings] = rows;
  if (settings === undefined) throw new Error('The organisation is missing from the database.');
  return settings;
}

async function updateOrganisation(
  client: PoolClient,
  changes: Partial<OrganisationRow>,
): Promise<{ before: OrganisationRow; after: OrganisationRow; fields: (keyof OrganisationRow)[] }> {
  const { rows: earlier } = await client.query<OrganisationRow>(`SELECT ${SELECTED} FROM organisation FOR UPDATE`);
  const { rows: later } = await client.query<OrganisationRow>(
    `UPDATE organisation SET ${ASSIGNED} RETURNING ${SELECTED}`,
    NAMES.map((name) => (name === 'rateLimit' && changes[name] === null ? NO_LIMIT_SET : (changes[name] ?? null))),
  );
  await countRevision(client);
  const before = earlier[0]!;
  const after = later[0]!;
  // Compared as JSON, because Postgres stores the fields of jsonb in a fixed order.
  const differs = (name: keyof OrganisationRow): boolean =>
    JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  return { before, after, fields: NAMES.filter(differs) };
}
