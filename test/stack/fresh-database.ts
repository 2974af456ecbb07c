import { expect, inject } from 'vitest';
import type { Part } from './left-behind.ts';
import { createDatabase, onServer, removeDatabase } from './shared-postgres.ts';

/**
 * Values that a migration draws at random would be the same in all copies: the installation's ID, its secret, and its first
 * tenant.
 */
const AS_ITSELF = `
  UPDATE redis_epoch SET installation_id = gen_random_uuid();
  UPDATE event_id_secret SET secret = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
  UPDATE tenants SET id = gen_random_uuid() WHERE no = 0`;

/** A database of the run's Postgres that nothing else uses: migrated, or empty. */
export async function freshDatabase(migrated: boolean): Promise<Part> {
  const address = inject('postgresAt');
  const { url } = await createDatabase(address, migrated ? 'migrated' : 'empty');
  if (migrated) await onServer(url, AS_ITSELF);
  return {
    url,
    close: async () => {
      const { left } = await removeDatabase(address, url);
      expect(left, `connections to Postgres that the test file left open: ${left.join('; ')}`).toEqual([]);
    },
  };
}
