import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import { type Clock, systemClock } from '../../clock.ts';
import { APPLICATION_KEY_START, type Author, parseApiKey } from '../../domain/administration/author.ts';
import { type Announce, countRevision, ORGANISATION_MESSAGE } from '../revisions.ts';
import { storableText } from '../storable-json.ts';
import { transaction } from '../transaction.ts';
import { type AuditEntry, writeAudit } from './audit.ts';
import { CAN_CREATE_KEYS, keyHash, newKey } from './keys.ts';
import { deleteSessionsOf } from './sessions.ts';

/** A new or rotated key, as the administrator sees it once. */
export interface CreatedAdminKey extends AdminKeyRow {
  /** `<prefix>.<body>`. */
  key: string;
}

/** Why nothing was done: the key or the tenant does not exist, or it is the last active key that can create others. */
export type AdminKeyRefusal = 'unknown' | 'no tenant' | 'last';

const FIRST_KEY = { name: 'First key', access: 'full', tenantNo: null } as const;

/** The stored admin keys. One active key always has full access. Changes notify every process. */
export function createAdminKeys(pool: Pool, announce: Announce, clock: Clock = systemClock) {
  function list(page: { limit: number; skip: number }): Promise<AdminKeyRow[]> {
    return listAdminKeys(pool, page);
  }

  /** Creates keys; one result per item. `by`, here and below: who makes the change. */
  async function create(items: readonly WantedAdminKey[], by: Author): Promise<(CreatedAdminKey | AdminKeyRefusal)[]> {
    return edit(by, async (client, audit) => {
      const outcomes: (CreatedAdminKey | AdminKeyRefusal)[] = [];
      for (const { name, access, tenantId } of items) {
        const tenantNo = tenantId === null ? null : await tenantNoOf(client, tenantId);
        if (tenantId !== null && tenantNo === null) {
          outcomes.push('no tenant');
          continue;
        }
        const created = await insertNew(client, { name, access, tenantNo, nowMs: clock.now() });
        outcomes.push(created);
        audit.push({
          action: 'create',
          kind: 'admin_key',
          id: created.id,
          name: `${name} (${created.prefix})`,
          after: { access, tenantId },
        });
      }
      return outcomes;
    });
  }

  /** Renames, activates or deactivates keys or changes their access, in order; one result per item. */
  async function update(items: readonly AdminKeyChange[], by: Author): Promise<(AdminKeyRow | AdminKeyRefusal)[]> {
    return edit(by, async (client, audit) => {
      const outcomes: (AdminKeyRow | AdminKeyRefusal)[] = [];
      for (const item of items) {
        const { before, outcome } = await changeAdminKey(client, item);
        outcomes.push(outcome);
        if (typeof outcome === 'string' || before === null) continue;
        const { name, status, access, id, prefix } = outcome;
        if (status === 'inactive') await deleteSessionsOf(client, id);
        if (before.name === name && before.status === status && before.access === access) continue;
        audit.push({
          action: 'update',
          kind: 'admin_key',
          id,
          name: `${name} (${prefix})`,
          before: { name: before.name, status: before.status, access: before.access },
          after: { name, status, access },
        });
      }
      return outcomes;
    });
  }

  /** Replaces a key's secret; the old one is invalid immediately. `null` if the key does not exist. */
  async function rotate(id: string, by: Author): Promise<CreatedAdminKey | null> {
    return edit(by, async (client, audit) => {
      const { body, hash } = newKey('adm');
      const row = await changeAdminKeyHash(client, id, hash);
      if (row === null) return null;
      audit.push({ action: 'rotate', kind: 'admin_key', id: row.id, name: `${row.name} (${row.prefix})` });
      return { ...row, key: `${row.prefix}.${body}` };
    });
  }

  /** Deletes keys, in order. Keeps the last active one that can create others. */
  async function remove(ids: readonly string[], by: Author): Promise<{ deleted: string[]; last: string[] }> {
    return edit(by, async (client, audit) => {
      const result: { deleted: string[]; last: string[] } = { deleted: [], last: [] };
      for (const id of ids) {
        const outcome = await removeAdminKey(client, id);
        if (outcome === 'last') result.last.push(id);
        if (typeof outcome === 'string') continue;
        result.deleted.push(id);
        audit.push({ action: 'delete', kind: 'admin_key', id, name: `${outcome.name} (${outcome.prefix})` });
      }
      return result;
    });
  }

  /**
   * Makes sure that an admin key exists. Stores a given key (`<prefix>.<body>`) unless its prefix is already stored. Without
   * one, creates a key if there is none. Returns the key, to be shown once, if it was stored now; otherwise `null`. Safe to
   * call in many processes at once. Throws if the given key is malformed.
   */
  async function ensureFirst(given: string | null): Promise<string | null> {
    if (given !== null) return ensureGiven(given);
    return transaction(pool, async (client) => {
      await lockAdminKeys(client);
      const { rowCount } = await client.query('SELECT FROM admin_keys LIMIT 1');
      return rowCount === 0 ? (await insertNew(client, { ...FIRST_KEY, nowMs: clock.now() })).key : null;
    });
  }

  async function ensureGiven(given: string): Promise<string | null> {
    const parts = parseApiKey(given);
    if (parts === null || parts.prefix.startsWith(APPLICATION_KEY_START))
      throw new Error('An admin key has the form <prefix>.<body>.');
    const { prefix, body } = parts;
    const row = { ...FIRST_KEY, id: uuid(), prefix, hash: keyHash(body), nowMs: clock.now() };
    const stored = await insertAdminKey(pool, row);
    return stored === null ? null : given;
  }

  /** Serialises edits. Otherwise two concurrent ones could each remove what the other considers the last key. */
  async function edit<T>(by: Author, work: (client: PoolClient, audit: AuditEntry[]) => Promise<T>): Promise<T> {
    const audit: AuditEntry[] = [];
    const result = await transaction(pool, async (client) => {
      await lockAdminKeys(client);
      const outcome = await work(client, audit);
      await writeAudit(client, { tenantNo: null, nowMs: clock.now(), by, entries: audit });
      if (audit.length > 0) await countRevision(client);
      return outcome;
    });
    if (audit.length > 0) await announce(ORGANISATION_MESSAGE);
    return result;
  }

  return { list, create, update, rotate, delete: remove, ensureFirst };
}

export type AdminKeys = ReturnType<typeof createAdminKeys>;

async function insertNew(
  client: Pool | PoolClient,
  key: { name: string; access: AdminKeyRow['access']; tenantNo: number | null; nowMs: number },
): Promise<CreatedAdminKey> {
  for (;;) {
    const { prefix, key: text, hash } = newKey('adm');
    const row = await insertAdminKey(client, { ...key, id: uuid(), prefix, hash });
    if (row !== null) return { ...row, key: text };
  }
}

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

/**
 * The active keys that were created before a time (epoch ms) and never used, and those last used before another one; oldest first,
 * at most 100.
 */
export async function idleAdminKeys(
  pool: Pool,
  { createdBeforeMs, usedBeforeMs }: { createdBeforeMs: number; usedBeforeMs: number },
): Promise<{ name: string; wasUsed: boolean }[]> {
  const { rows } = await pool.query<{ name: string; wasUsed: boolean }>(
    `SELECT name, last_used IS NOT NULL AS "wasUsed" FROM admin_keys
      WHERE status = 'active'
        AND (last_used < to_timestamp($2::float8 / 1000)
          OR last_used IS NULL AND created < to_timestamp($1::float8 / 1000))
      ORDER BY created LIMIT 100`,
    [createdBeforeMs, usedBeforeMs],
  );
  return rows;
}

const COLUMNS = `id, prefix, name, status, access, created, last_used AS "lastUsed",
  (SELECT customer_id FROM tenants WHERE no = admin_keys.tenant_no) AS "tenantId"`;
const ANOTHER = `EXISTS (SELECT FROM admin_keys WHERE ${CAN_CREATE_KEYS} AND id <> $1)`;

const lockAdminKeys = (client: PoolClient): Promise<unknown> =>
  client.query('LOCK TABLE admin_keys IN SHARE ROW EXCLUSIVE MODE');

interface WantedAdminKey {
  name: string;
  access: AdminKeyRow['access'];
  tenantId: string | null;
}

/** Number of the active tenant with this ID of the client's own, or `null`. Locks it until the transaction ends. */
async function tenantNoOf(client: PoolClient, customerId: string): Promise<number | null> {
  const { rows } = await client.query<{ no: number }>(
    `SELECT no FROM tenants WHERE customer_id = $1 AND status = 'active' FOR SHARE`,
    [customerId],
  );
  return rows[0]?.no ?? null;
}

/** Returns `null` if the prefix is taken. */
async function insertAdminKey(
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

async function listAdminKeys(pool: Pool, { limit, skip }: { limit: number; skip: number }): Promise<AdminKeyRow[]> {
  const { rows } = await pool.query<AdminKeyRow>(
    `SELECT ${COLUMNS} FROM admin_keys ORDER BY created, id LIMIT $1 OFFSET $2`,
    [limit, skip],
  );
  return rows;
}

const find = async (client: PoolClient, id: string): Promise<AdminKeyRow | null> =>
  (await client.query<AdminKeyRow>(`SELECT ${COLUMNS} FROM admin_keys WHERE id = $1`, [id])).rows[0] ?? null;

interface AdminKeyChange {
  id: string;
  name?: string;
  status?: AdminKeyRow['status'];
  access?: AdminKeyRow['access'];
}

/** Changes a key, unless no key that can create others would be left. Requires `lockAdminKeys`. */
async function changeAdminKey(
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

async function changeAdminKeyHash(client: PoolClient, id: string, hash: Buffer): Promise<AdminKeyRow | null> {
  const { rows } = await client.query<AdminKeyRow>(
    `UPDATE admin_keys SET hash = $2 WHERE id = $1 RETURNING ${COLUMNS}`,
    [id, hash],
  );
  return rows[0] ?? null;
}

/** Deletes and returns a key, unless no key that can create others would be left. Requires `lockAdminKeys`. */
async function removeAdminKey(client: PoolClient, id: string): Promise<AdminKeyRow | 'unknown' | 'last'> {
  const { rows } = await client.query<AdminKeyRow>(
    `DELETE FROM admin_keys WHERE id = $1 AND (NOT (${CAN_CREATE_KEYS}) OR ${ANOTHER}) RETURNING ${COLUMNS}`,
    [id],
  );
  return rows[0] ?? ((await find(client, id)) === null ? 'unknown' : 'last');
}
