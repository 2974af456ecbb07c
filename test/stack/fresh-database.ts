import type { Pool } from 'pg';
import { expect, inject } from 'vitest';
import { createPool } from '../../src/postgres/pool.ts';
import type { Part } from './left-behind.ts';
import { createDatabase, removeDatabase } from './shared-postgres.ts';

/**
 * Values that a migration draws at random would be the same in all copies: the installation's ID, its secret, and its first
 * tenant.
 */
const AS_ITSELF = `
  UPDATE redis_epoch SET installation_id = gen_random_uuid();
  UPDATE event_id_secret SET secret = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
  UPDATE tenants SET id = gen_random_uuid() WHERE no = 0`;

/** What a test changes in a database before anything else uses it. */
export type Preparing = (pool: Pool) => Promise<void>;

/**
 * A database of the run's Postgres that nothing else uses: migrated, or empty. `prepare` shares a connection with what every
 * migrated database needs, because opening one takes about 10 ms of CPU.
 */
export async function freshDatabase(migrated: boolean, prepare?: Preparing): Promise<Part> {
  const address = inject('postgresAt');
  const { url } = await createDatabase(address, migrated ? 'migrated' : 'empty');
  if (migrated || prepare)
    await prepared(url, async (pool) => {
      if (migrated) await pool.query(AS_ITSELF);
      await prepare?.(pool);
    });
  return {
    url,
    close: async () => {
      const { left } = await removeDatabase(address, url);
      expect(left, `connections to Postgres that the test file left open: ${left.join('; ')}`).toEqual([]);
    },
  };
}

/** Changes a database over a single connection. */
export async function prepared(url: string, prepare: Preparing): Promise<void> {
  const pool = createPool(url, { max: 1, timeoutMs: 60_000 });
  try {
    await prepare(pool);
  } finally {
    await pool.end();
  }
}
