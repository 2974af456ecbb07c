import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import { type Clock, systemClock } from '../../clock.ts';
import type { Author, KeyScope } from '../../domain/administration/author.ts';
import { type Announce, countCredentialChange, credentialsMessage } from '../revisions.ts';
import { transaction } from '../transaction.ts';
import { writeAudit } from './audit.ts';
import { newKey, type NewKey } from './keys.ts';

export interface WantedApplicationKey {
  userId: string;
  scope: KeyScope;
  /** Expiry (epoch ms); `null` for never. */
  expiresMs: number | null;
  /** Requests per second; 0 for no limit, `null` for the organisation's limit. */
  rateLimit: number | null;
}

/** A new key, as its creator sees it once. */
export interface CreatedApplicationKey extends WantedApplicationKey {
  id: string;
  key: string;
  prefix: string;
}

export interface ApplicationKeyRow {
  id: string;
  prefix: string;
  userId: string;
  scope: KeyScope;
  expires: Date | null;
  rateLimit: number | null;
  created: Date;
  /** Accurate to about a minute; `null` if never used. */
  lastUsed: Date | null;
}

export function createApplicationKeys(pool: Pool, announce: Announce, clock: Clock = systemClock) {
  /** Creates keys, in order. The users need not exist yet. `by`, here and below: who makes the change. */
  async function create(
    tenantNo: number,
    wanted: readonly WantedApplicationKey[],
    by: Author,
  ): Promise<CreatedApplicationKey[]> {
    const created: (CreatedApplicationKey | undefined)[] = wanted.map(() => undefined);
    // If a prefix is taken (probability 10^-12 per stored key), it is drawn again.
    for (
      let missing = [...wanted.keys()];
      missing.length > 0;
      missing = missing.filter((at) => created[at] === undefined)
    ) {
      const drawn = missing.map((at) => ({ at, id: uuid(), wanted: wanted[at]!, ...newKey('app') }));
      const stored = await insert(tenantNo, drawn, by);
      for (const { at, id, key, prefix } of drawn)
        if (stored.has(id)) created[at] = { ...wanted[at]!, id, key, prefix };
    }
    return created as CreatedApplicationKey[];
  }

  async function list(
    tenantNo: number,
    { limit, skip, userId }: { limit: number; skip: number; userId?: string },
  ): Promise<ApplicationKeyRow[]> {
    const { rows } = await pool.query<ApplicationKeyRow>(
      `SELECT id, prefix, user_id AS "userId", scope, expires_at AS expires,
              rate_limit AS "rateLimit", created, last_used AS "lastUsed"
         FROM application_keys WHERE tenant_no = $1 ${userId === undefined ? '' : 'AND user_id = $4'}
        ORDER BY id LIMIT $2 OFFSET $3`,
      [tenantNo, limit, skip, ...(userId === undefined ? [] : [userId])],
    );
    return rows;
  }

  /** Deletes those keys that belong to the tenant and returns their IDs. Notifies every process immediately. */
  async function remove(tenantNo: number, ids: string[], by: Author): Promise<string[]> {
    const deleted = await end(async (client) => {
      const { rows } = await client.query<{ id: string; prefix: string }>(
        'DELETE FROM application_keys WHERE tenant_no = $1 AND id = ANY($2::uuid[]) RETURNING id, prefix',
        [tenantNo, ids],
      );
      await note(client, { tenantNo, by, action: 'delete', keys: rows });
      return rows;
    });
    return deleted.map(({ id }) => id);
  }

  /** Deletes all keys of a user and returns their number. Notifies every process immediately. */
  async function deleteOf(tenantNo: number, userId: string): Promise<number> {
    const deleted = await end(async (client) => {
      const { rows } = await client.query<{ prefix: string }>(
        'DELETE FROM application_keys WHERE tenant_no = $1 AND user_id = $2 RETURNING prefix',
        [tenantNo, userId],
      );
      return rows;
    });
    return deleted.length;
  }

  /** Deletes keys in a transaction, and announces them. */
  async function end<Key extends { prefix: string }>(work: (client: PoolClient) => Promise<Key[]>): Promise<Key[]> {
    const deleted = await transaction(pool, async (client) => {
      const keys = await work(client);
      if (keys.length > 0) await countCredentialChange(client, prefixesOf(keys));
      return keys;
    });
    if (deleted.length > 0) await announce(credentialsMessage(prefixesOf(deleted)));
    return deleted;
  }

  async function insert(
    tenantNo: number,
    keys: (NewKey & { id: string; wanted: WantedApplicationKey })[],
    by: Author,
  ): Promise<Set<string>> {
    return transaction(pool, async (client) => {
      const { rows } = await client.query<{ id: string; prefix: string }>(
        `INSERT INTO application_keys (tenant_no, created, id, prefix, hash, user_id, scope, expires_at, rate_limit)
         SELECT $1, $2, id, prefix, hash, user_id, scope, to_timestamp(expires_ms / 1000), rate_limit
           FROM unnest($3::uuid[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::float8[], $9::integer[])
             AS key (id, prefix, hash, user_id, scope, expires_ms, rate_limit)
         ON CONFLICT (prefix) DO NOTHING RETURNING id, prefix`,
        [
          tenantNo,
          new Date(clock.now()),
          keys.map((key) => key.id),
          keys.map((key) => key.prefix),
          keys.map((key) => key.hash),
          keys.map(({ wanted }) => wanted.userId),
          keys.map(({ wanted }) => wanted.scope),
          keys.map(({ wanted }) => wanted.expiresMs),
          keys.map(({ wanted }) => wanted.rateLimit),
        ],
      );
      await note(client, { tenantNo, by, action: 'create', keys: rows });
      return new Set(rows.map(({ id }) => id));
    });
  }

  /** The log does not name the user, who may be deleted. The key's readable part identifies the key. */
  function note(
    client: PoolClient,
    entry: { tenantNo: number; by: Author; action: 'create' | 'delete'; keys: { id: string; prefix: string }[] },
  ): Promise<void> {
    const { tenantNo, by, action, keys } = entry;
    const entries = keys.map(({ id, prefix }) => ({ action, kind: 'application_key' as const, id, name: prefix }));
    return writeAudit(client, { tenantNo, nowMs: clock.now(), by, entries });
  }

  return { create, list, delete: remove, deleteOf };
}

const prefixesOf = (keys: readonly { prefix: string }[]): string[] => keys.map(({ prefix }) => prefix);

export type ApplicationKeys = ReturnType<typeof createApplicationKeys>;
