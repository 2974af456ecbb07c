import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import { countRevision, type Announce } from './announce.ts';
import { keyHash, newKey } from './new-key.ts';
import { transaction } from './transaction.ts';

/** A key as it is told once, to who made it. */
export interface CreatedAdminKey {
  id: string;
  name: string;
  key: string;
  prefix: string;
}

/** A prefix and a body of at least 16 characters, as `ADMIN_API_KEY` must be. */
export const ADMIN_KEY_PATTERN = /^(?!app_)([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_\-+/=]{16,256})$/;

const FIRST_KEY_NAME = 'First key';

/** The stored admin keys. */
export class AdminKeys {
  private readonly pool: Pool;
  private readonly announce: Announce;

  constructor({ pool, announce }: { pool: Pool; announce: Announce }) {
    this.pool = pool;
    this.announce = announce;
  }

  /** Makes a key. */
  async create(name: string): Promise<CreatedAdminKey> {
    for (;;) {
      const created = await insertNew(this.pool, name);
      if (created !== null) return created;
    }
  }

  /** Deletes those of the keys that exist; their IDs. Every process hears of it at once. */
  async delete(ids: string[]): Promise<string[]> {
    const deleted = await transaction(this.pool, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        'DELETE FROM admin_keys WHERE id = ANY($1::uuid[]) RETURNING id',
        [ids],
      );
      if (rows.length > 0) await countRevision(client);
      return rows.map(({ id }) => id);
    });
    if (deleted.length > 0) await this.announce('*');
    return deleted;
  }

  /**
   * Sees to it that there is an admin key. A given one (`<prefix>.<body>`) is stored unless its prefix is known
   * already; without one, a key is made where there is none at all. The key, to be shown once, if it was stored
   * now, else null. Safe to call in many processes at once. Throws for a given key of another form.
   */
  async ensureFirst(given: string | null): Promise<string | null> {
    if (given !== null) return this.ensureGiven(given);
    return transaction(this.pool, async (client) => {
      await client.query('LOCK TABLE admin_keys IN SHARE ROW EXCLUSIVE MODE');
      const { rowCount } = await client.query('SELECT FROM admin_keys LIMIT 1');
      return rowCount === 0 ? ((await insertNew(client, FIRST_KEY_NAME))?.key ?? null) : null;
    });
  }

  private async ensureGiven(given: string): Promise<string | null> {
    const parts = ADMIN_KEY_PATTERN.exec(given);
    if (parts === null) throw new Error('An admin key has the form <prefix>.<body>, the body at least 16 characters.');
    const stored = await insert(this.pool, {
      id: uuid(),
      prefix: parts[1]!,
      hash: keyHash(parts[2]!),
      name: FIRST_KEY_NAME,
    });
    return stored ? given : null;
  }
}

async function insertNew(client: Pool | PoolClient, name: string): Promise<CreatedAdminKey | null> {
  const { prefix, key, hash } = newKey('adm');
  const id = uuid();
  return (await insert(client, { id, prefix, hash, name })) ? { id, name, key, prefix } : null;
}

/** False: the prefix is taken. */
async function insert(
  client: Pool | PoolClient,
  { id, prefix, hash, name }: { id: string; prefix: string; hash: Buffer; name: string },
): Promise<boolean> {
  const { rowCount } = await client.query(
    'INSERT INTO admin_keys (id, prefix, hash, name) VALUES ($1, $2, $3, $4) ON CONFLICT (prefix) DO NOTHING',
    [id, prefix, hash, name],
  );
  return rowCount === 1;
}
