import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import { systemClock, type Clock } from '../clock.ts';
import { writeAudit } from './audit/write-audit.ts';
import { countRevision, type Announce } from './revisions.ts';
import { newKey, type NewKey } from './new-key.ts';
import { transaction } from './transaction.ts';

/** A key as it is told once, to who made it. */
export interface CreatedApplicationKey {
  id: string;
  userId: string;
  key: string;
  prefix: string;
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
   * Makes a key for each of the users (who need not have been seen yet), in their order. `who`: the readable part of
   * the key that asks for it.
   */
  async create(tenantNo: number, userIds: string[], who: string): Promise<CreatedApplicationKey[]> {
    const created: (CreatedApplicationKey | undefined)[] = userIds.map(() => undefined);
    // Drawing a prefix that is taken (1 in 10^12 a stored key) means drawing again.
    for (
      let missing = [...userIds.keys()];
      missing.length > 0;
      missing = missing.filter((at) => created[at] === undefined)
    ) {
      const drawn = missing.map((at) => ({ at, id: uuid(), userId: userIds[at]!, ...newKey('app') }));
      const stored = await this.insert(tenantNo, drawn, who);
      for (const { at, id, userId, key, prefix } of drawn)
        if (stored.has(id)) created[at] = { id, userId, key, prefix };
    }
    return created as CreatedApplicationKey[];
  }

  /** Deletes those of the keys that are the tenant's; their IDs. Every process hears of it at once. */
  async delete(tenantNo: number, ids: string[], who: string): Promise<string[]> {
    const deleted = await transaction(this.pool, async (client) => {
      const { rows } = await client.query<{ id: string; prefix: string }>(
        'DELETE FROM application_keys WHERE tenant_no = $1 AND id = ANY($2::uuid[]) RETURNING id, prefix',
        [tenantNo, ids],
      );
      if (rows.length > 0) await countRevision(client);
      await this.note(client, { tenantNo, who, action: 'delete', keys: rows });
      return rows.map(({ id }) => id);
    });
    if (deleted.length > 0) await this.announce('*');
    return deleted;
  }

  /** Deletes every key of a user; how many there were. Every process hears of it at once. */
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
    keys: (NewKey & { id: string; userId: string })[],
    who: string,
  ): Promise<Set<string>> {
    return transaction(this.pool, async (client) => {
      const { rows } = await client.query<{ id: string; prefix: string }>(
        `INSERT INTO application_keys (tenant_no, id, prefix, hash, user_id)
         SELECT $1, * FROM unnest($2::uuid[], $3::text[], $4::bytea[], $5::text[])
         ON CONFLICT (prefix) DO NOTHING RETURNING id, prefix`,
        [
          tenantNo,
          keys.map((key) => key.id),
          keys.map((key) => key.prefix),
          keys.map((key) => key.hash),
          keys.map((key) => key.userId),
        ],
      );
      await this.note(client, { tenantNo, who, action: 'create', keys: rows });
      return new Set(rows.map(({ id }) => id));
    });
  }

  /** The log does not name the user, who may be deleted: the key's readable part says which key it was. */
  private note(
    client: PoolClient,
    {
      tenantNo,
      who,
      action,
      keys,
    }: { tenantNo: number; who: string; action: 'create' | 'delete'; keys: { id: string; prefix: string }[] },
  ): Promise<void> {
    const entries = keys.map(({ id, prefix }) => ({ action, kind: 'application_key', id, name: prefix }));
    return writeAudit(client, { tenantNo, nowMs: this.clock.now(), who, entries });
  }
}
