import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import { systemClock, type Clock } from '../clock.ts';
import type { KeyScope } from '../domain/api-key.ts';
import type { Author } from '../domain/author.ts';
import { writeAudit } from './audit/write-audit.ts';
import { countRevision, type Announce } from './revisions.ts';
import { newKey, type NewKey } from './new-key.ts';
import { transaction } from './transaction.ts';

/** A key to be made. */
export interface WantedApplicationKey {
  userId: string;
  scope: KeyScope;
  /** From when it is refused, epoch ms; null: never. */
  expiresMs: number | null;
  /** Requests a second; 0: any number; null: as many as the organisation allows. */
  rateLimit: number | null;
}

/** A key as it is shown once, to who made it. */
export interface CreatedApplicationKey extends WantedApplicationKey {
  id: string;
  key: string;
  prefix: string;
}

/** A key as it is listed. */
export interface ApplicationKeyRow {
  id: string;
  prefix: string;
  userId: string;
  scope: KeyScope;
  expires: Date | null;
  rateLimit: number | null;
  created: Date;
  /** To the minute or so; null: never. */
  lastUsed: Date | null;
}

/** The stored application keys: one user each. */
export class ApplicationKeys {
  private readonly pool: Pool;
  private readonly announce: Announce;
  private readonly clock: Clock;

  constructor({ pool, announce, clock = systemClock }: { pool: Pool; announce: Announce; clock?: Clock }) {
    this.pool = pool;
    this.announce = announce;
    this.clock = clock;
  }

  /**
   * Makes the keys, in their order, for users who need not have been seen yet. `by`: who asks for it, as for all of these.
   */
  async create(
    tenantNo: number,
    wanted: readonly WantedApplicationKey[],
    by: Author,
  ): Promise<CreatedApplicationKey[]> {
    const created: (CreatedApplicationKey | undefined)[] = wanted.map(() => undefined);
    // Drawing a prefix that is taken (1 in 10^12 a stored key) means drawing again.
    for (
      let missing = [...wanted.keys()];
      missing.length > 0;
      missing = missing.filter((at) => created[at] === undefined)
    ) {
      const drawn = missing.map((at) => ({ at, id: uuid(), wanted: wanted[at]!, ...newKey('app') }));
      const stored = await this.insert(tenantNo, drawn, by);
      for (const { at, id, key, prefix } of drawn)
        if (stored.has(id)) created[at] = { ...wanted[at]!, id, key, prefix };
    }
    return created as CreatedApplicationKey[];
  }

  /** A tenant's keys, or one user's of them; the oldest first. */
  async list(
    tenantNo: number,
    { limit, skip, userId }: { limit: number; skip: number; userId?: string },
  ): Promise<ApplicationKeyRow[]> {
    const { rows } = await this.pool.query<ApplicationKeyRow>(
      `SELECT id, prefix, user_id AS "userId", scope, expires_at AS expires,
              rate_limit AS "rateLimit", created, last_used AS "lastUsed"
         FROM application_keys WHERE tenant_no = $1 ${userId === undefined ? '' : 'AND user_id = $4'}
        ORDER BY id LIMIT $2 OFFSET $3`,
      [tenantNo, limit, skip, ...(userId === undefined ? [] : [userId])],
    );
    return rows;
  }

  /** Deletes those of the keys that are the tenant's; their IDs. Every process is notified at once. */
  async delete(tenantNo: number, ids: string[], by: Author): Promise<string[]> {
    const deleted = await transaction(this.pool, async (client) => {
      const { rows } = await client.query<{ id: string; prefix: string }>(
        'DELETE FROM application_keys WHERE tenant_no = $1 AND id = ANY($2::uuid[]) RETURNING id, prefix',
        [tenantNo, ids],
      );
      if (rows.length > 0) await countRevision(client);
      await this.note(client, { tenantNo, by, action: 'delete', keys: rows });
      return rows.map(({ id }) => id);
    });
    if (deleted.length > 0) await this.announce('*');
    return deleted;
  }

  /** Deletes every key of a user; how many there were. Every process is notified at once. */
  async deleteOf(tenantNo: number, userId: string): Promise<number> {
    const deleted = await transaction(this.pool, async (client) => {
      const { rowCount } = await client.query('DELETE FROM application_keys WHERE tenant_no = $1 AND user_id = $2', [
        tenantNo,
        userId,
      ]);
      if (rowCount) await countRevision(client);
      return rowCount ?? 0;
    });
    if (deleted > 0) await this.announce('*');
    return deleted;
  }

  /** The IDs that are stored now. */
  private async insert(
    tenantNo: number,
    keys: (NewKey & { id: string; wanted: WantedApplicationKey })[],
    by: Author,
  ): Promise<Set<string>> {
    return transaction(this.pool, async (client) => {
      const { rows } = await client.query<{ id: string; prefix: string }>(
        `INSERT INTO application_keys (tenant_no, created, id, prefix, hash, user_id, scope, expires_at, rate_limit)
         SELECT $1, $2, id, prefix, hash, user_id, scope, to_timestamp(expires_ms / 1000), rate_limit
           FROM unnest($3::uuid[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::float8[], $9::integer[])
             AS key (id, prefix, hash, user_id, scope, expires_ms, rate_limit)
         ON CONFLICT (prefix) DO NOTHING RETURNING id, prefix`,
        [
          tenantNo,
          new Date(this.clock.now()),
          keys.map((key) => key.id),
          keys.map((key) => key.prefix),
          keys.map((key) => key.hash),
          keys.map(({ wanted }) => wanted.userId),
          keys.map(({ wanted }) => wanted.scope),
          keys.map(({ wanted }) => wanted.expiresMs),
          keys.map(({ wanted }) => wanted.rateLimit),
        ],
      );
      await this.note(client, { tenantNo, by, action: 'create', keys: rows });
      return new Set(rows.map(({ id }) => id));
    });
  }

  /** The log does not name the user, who may be deleted: the key's readable part says which key it was. */
  private note(
    client: PoolClient,
    {
      tenantNo,
      by,
      action,
      keys,
    }: { tenantNo: number; by: Author; action: 'create' | 'delete'; keys: { id: string; prefix: string }[] },
  ): Promise<void> {
    const entries = keys.map(({ id, prefix }) => ({ action, kind: 'application_key', id, name: prefix }));
    return writeAudit(client, { tenantNo, nowMs: this.clock.now(), by, entries });
  }
}
