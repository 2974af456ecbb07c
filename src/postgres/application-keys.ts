import type { Pool } from 'pg';
import { v7 as uuid } from 'uuid';
import { countRevision, type Announce } from './announce.ts';
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

  constructor({ pool, announce }: { pool: Pool; announce: Announce }) {
    this.pool = pool;
    this.announce = announce;
  }

  /** Makes a key for each of the users (who need not have been seen yet), in their order. */
  async create(tenantNo: number, userIds: string[]): Promise<CreatedApplicationKey[]> {
    const created: (CreatedApplicationKey | undefined)[] = userIds.map(() => undefined);
    // Drawing a prefix that is taken (1 in 10^12 a stored key) means drawing again.
    for (
      let missing = [...userIds.keys()];
      missing.length > 0;
      missing = missing.filter((at) => created[at] === undefined)
    ) {
      const drawn = missing.map((at) => ({ at, id: uuid(), userId: userIds[at]!, ...newKey('app') }));
      const stored = await this.insert(tenantNo, drawn);
      for (const { at, id, userId, key, prefix } of drawn)
        if (stored.has(id)) created[at] = { id, userId, key, prefix };
    }
    return created as CreatedApplicationKey[];
  }

  /** Deletes those of the keys that are the tenant's; their IDs. Every process hears of it at once. */
  async delete(tenantNo: number, ids: string[]): Promise<string[]> {
    const deleted = await transaction(this.pool, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        'DELETE FROM application_keys WHERE tenant_no = $1 AND id = ANY($2::uuid[]) RETURNING id',
        [tenantNo, ids],
      );
      if (rows.length > 0) await countRevision(client);
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
  private async insert(tenantNo: number, keys: (NewKey & { id: string; userId: string })[]): Promise<Set<string>> {
    const { rows } = await this.pool.query<{ id: string }>(
      `INSERT INTO application_keys (tenant_no, id, prefix, hash, user_id)
       SELECT $1, * FROM unnest($2::uuid[], $3::text[], $4::bytea[], $5::text[])
       ON CONFLICT (prefix) DO NOTHING RETURNING id`,
      [
        tenantNo,
        keys.map((key) => key.id),
        keys.map((key) => key.prefix),
        keys.map((key) => key.hash),
        keys.map((key) => key.userId),
      ],
    );
    return new Set(rows.map(({ id }) => id));
  }
}
