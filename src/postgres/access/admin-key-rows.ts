import type { Pool, PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

export interface AdminKeyRow {
  id: string;
  prefix: string;
  name: string;
  status: 'active' | 'inactive';
  access: 'full' | 'read';
  /** The client's own ID of the only tenant that the key gives access to, as in the `Tenant-ID` header; `null` for all. */
  tenantId: string | null;
  created: Date;
  /** Accurate to about a minute; `null` if never used. */
  lastUsed: Date | null;
}

const COLUMNS = `id, prefix, name, status, access, created, last_used AS "lastUsed",
  (SELECT customer_id FROM tenants WHERE no = admin_keys.tenant_no) AS "tenantId"`;
/** SQL: whether a key can create others. Without such a key, nobody could ever create one again. */
export const CAN_CREATE_KEYS = `status = 'active' AND access = 'full' AND tenant_no IS NULL`;
const ANOTHER = `EXISTS (SELECT FROM admin_keys WHERE ${CAN_CREATE_KEYS} AND id <> $1)`;

export const lockAdminKeys = (client: PoolClient): Promise<unknown> =>
  client.query('LOCK TABLE admin_keys IN SHARE ROW EXCLUSIVE MODE');

export interface WantedAdminKey {
  name: string;
  access: AdminKeyRow['access'];
  tenantId: string | null;
}

/** Number of the active tenant with this ID of the client's own, or `null`. Locks it until the transaction ends. */
export async function tenantNoOf(client: PoolClient, customerId: string): Promise<number | null> {
  const { rows } = await client.query<{ no: number }>(
    `SELECT no FROM tenants WHERE customer_id = $1 AND status = 'active' FOR SHARE`,
    [customerId],
  );
  return rows[0]?.no ?? null;
}

/** Returns `null` if the prefix is taken. */
export async function insertAdminKey(
  client: Pool | PoolClient,
  key: {
    id: string;
    prefix: string;
    hash: Buffer;
    name: string;
    access: AdminKeyRow['access'];
    tenantNo: number | null;
    nowMs: number;
  },
): Promise<AdminKeyRow | null> {
  const { id, prefix, hash, name, access, tenantNo, nowMs } = key;
  const { rows } = await client.query<AdminKeyRow>(
    `INSERT INTO admin_keys (id, prefix, hash, name, created, access, tenant_no) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (prefix) DO NOTHING RETURNING ${COLUMNS}`,
    [id, prefix, hash, storableText(name), new Date(nowMs), access, tenantNo],
  );
  return rows[0] ?? null;
}

export async function listAdminKeys(
  pool: Pool,
  { limit, skip }: { limit: number; skip: number },
): Promise<AdminKeyRow[]> {
  const { rows } = await pool.query<AdminKeyRow>(
    `SELECT ${COLUMNS} FROM admin_keys ORDER BY created, id LIMIT $1 OFFSET $2`,
    [limit, skip],
  );
  return rows;
}

const find = async (client: PoolClient, id: string): Promise<AdminKeyRow | null> =>
  (await client.query<AdminKeyRow>(`SELECT ${COLUMNS} FROM admin_keys WHERE id = $1`, [id])).rows[0] ?? null;

export interface AdminKeyChange {
  id: string;
  name?: string;
  status?: AdminKeyRow['status'];
  access?: AdminKeyRow['access'];
}

/** Changes a key, unless no key that can create others would be left. Requires `lockAdminKeys`. */
export async function changeAdminKey(
  client: PoolClient,
  { id, name, status, access }: AdminKeyChange,
): Promise<{ before: AdminKeyRow | null; outcome: AdminKeyRow | 'unknown' | 'last' }> {
  const before = await find(client, id);
  if (before === null) return { before, outcome: 'unknown' };
  const { rows } = await client.query<AdminKeyRow>(
    `UPDATE admin_keys SET name = coalesce($2, name), status = coalesce($3, status), access = coalesce($4, access)
      WHERE id = $1
        AND (($3 IS DISTINCT FROM 'inactive' AND $4 IS DISTINCT FROM 'read') OR NOT (${CAN_CREATE_KEYS}) OR ${ANOTHER})
     RETURNING ${COLUMNS}`,
    [id, name === undefined ? null : storableText(name), status ?? null, access ?? null],
  );
  return { before, outcome: rows[0] ?? 'last' };
}

export async function changeAdminKeyHash(
  client: PoolClient,
  { id, hash }: { id: string; hash: Buffer },
): Promise<AdminKeyRow | null> {
  const { rows } = await client.query<AdminKeyRow>(
    `UPDATE admin_keys SET hash = $2 WHERE id = $1 RETURNING ${COLUMNS}`,
    [id, hash],
  );
  return rows[0] ?? null;
}

/** Deletes and returns a key, unless no key that can create others would be left. Requires `lockAdminKeys`. */
export async function removeAdminKey(client: PoolClient, id: string): Promise<AdminKeyRow | 'unknown' | 'last'> {
  const { rows } = await client.query<AdminKeyRow>(
    `DELETE FROM admin_keys WHERE id = $1 AND (NOT (${CAN_CREATE_KEYS}) OR ${ANOTHER}) RETURNING ${COLUMNS}`,
    [id],
  );
  return rows[0] ?? ((await find(client, id)) === null ? 'unknown' : 'last');
}
