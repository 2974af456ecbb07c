import type { Pool, PoolClient } from 'pg';
import { storableText } from './persist/storable-json.ts';

/** An admin key as it is listed. */
export interface AdminKeyRow {
  id: string;
  prefix: string;
  name: string;
  status: 'active' | 'inactive';
  created: Date;
  /** To the minute or so; null: never. */
  lastUsed: Date | null;
}

const COLUMNS = 'id, prefix, name, status, created, last_used AS "lastUsed"';
const ANOTHER = `EXISTS (SELECT FROM admin_keys WHERE status = 'active' AND id <> $1)`;

/** Excludes other edits of admin keys until the transaction ends. */
export const lockAdminKeys = (client: PoolClient): Promise<unknown> =>
  client.query('LOCK TABLE admin_keys IN SHARE ROW EXCLUSIVE MODE');

/** Null: the prefix is taken. */
export async function insertAdminKey(
  client: Pool | PoolClient,
  { id, prefix, hash, name, nowMs }: { id: string; prefix: string; hash: Buffer; name: string; nowMs: number },
): Promise<AdminKeyRow | null> {
  const { rows } = await client.query<AdminKeyRow>(
    `INSERT INTO admin_keys (id, prefix, hash, name, created) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (prefix) DO NOTHING RETURNING ${COLUMNS}`,
    [id, prefix, hash, storableText(name), new Date(nowMs)],
  );
  return rows[0] ?? null;
}

/** Keys, oldest first. */
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

/** Sets what is given of a key, unless that would leave no active one. Under `lockAdminKeys`. */
export async function changeAdminKey(
  client: PoolClient,
  { id, name, status }: { id: string; name?: string; status?: AdminKeyRow['status'] },
): Promise<{ before: AdminKeyRow | null; outcome: AdminKeyRow | 'unknown' | 'last' }> {
  const before = await find(client, id);
  if (before === null) return { before, outcome: 'unknown' };
  const { rows } = await client.query<AdminKeyRow>(
    `UPDATE admin_keys SET name = coalesce($2, name), status = coalesce($3, status)
      WHERE id = $1 AND ($3 IS DISTINCT FROM 'inactive' OR status = 'inactive' OR ${ANOTHER}) RETURNING ${COLUMNS}`,
    [id, name === undefined ? null : storableText(name), status ?? null],
  );
  return { before, outcome: rows[0] ?? 'last' };
}

/** Gives a key another secret; the key, or null: there is none. */
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

/** Deletes a key, unless that would leave no active one; what it was. Under `lockAdminKeys`. */
export async function removeAdminKey(client: PoolClient, id: string): Promise<AdminKeyRow | 'unknown' | 'last'> {
  const { rows } = await client.query<AdminKeyRow>(
    `DELETE FROM admin_keys WHERE id = $1 AND (status = 'inactive' OR ${ANOTHER}) RETURNING ${COLUMNS}`,
    [id],
  );
  return rows[0] ?? ((await find(client, id)) === null ? 'unknown' : 'last');
}

/** Notes that a key was used. Never goes back. */
export async function noteAdminKeyUse(pool: Pool, id: string, atMs: number): Promise<void> {
  await pool.query('UPDATE admin_keys SET last_used = greatest(last_used, to_timestamp($2 / 1000.0)) WHERE id = $1', [
    id,
    atMs,
  ]);
}
