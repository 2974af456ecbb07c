import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import { COUNT_REVISION } from './revisions.ts';

/** A tenant in the Admin API. */
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
export interface KnownTenant {
  no: number;
  id: string;
  customerId: string | null;
}

const COLUMNS = 'no, id, customer_id AS "customerId", name, status, created, updated';
const LISTED = `status = 'active' AND no > 0`;
/** Every change increments the revision, so that processes that miss the announcement detect it. */
const COUNTED = `WITH counted AS (${COUNT_REVISION})`;

/** All active tenants, including the organisation's own. */
export async function readKnownTenants(pool: Pool): Promise<KnownTenant[]> {
  const { rows } = await pool.query<KnownTenant>(
    `SELECT no, id, customer_id AS "customerId" FROM tenants WHERE status = 'active'`,
  );
  return rows;
}

/** Active tenants, oldest first. */
export async function listTenants(pool: Pool, { limit, skip }: { limit: number; skip: number }): Promise<TenantRow[]> {
  const text = `SELECT ${COLUMNS} FROM tenants WHERE ${LISTED} ORDER BY no LIMIT $1 OFFSET $2`;
  return (await pool.query<TenantRow>(text, [limit, skip])).rows;
}

/** The active tenant with this ID (a UUID), or null. */
export async function getTenant(pool: Pool, id: string): Promise<TenantRow | null> {
  const { rows } = await pool.query<TenantRow>(`SELECT ${COLUMNS} FROM tenants WHERE id = $1 AND ${LISTED}`, [id]);
  return rows[0] ?? null;
}

/** Adds a tenant; `null` if an active one has the customer ID. */
export async function insertTenant(
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
export async function updateTenant(
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
export async function archiveTenants(
  client: PoolClient,
  { ids, now }: { ids: readonly string[]; now: Date },
): Promise<{ id: string; customerId: string }[]> {
  const { rows } = await client.query<{ id: string; customerId: string }>(
    `${COUNTED} UPDATE tenants SET status = 'archived', updated = $2
      WHERE id = ANY($1::uuid[]) AND ${LISTED} RETURNING id, customer_id AS "customerId"`,
    [ids, now],
  );
  return rows;
}
