import { randomUUID } from 'node:crypto';
import { expect, inject } from 'vitest';
import { askForPostgres, databaseUrl, onServer } from './shared-postgres.ts';
import { leftBehind, type Part } from './left-behind.ts';

/**
 * Values that a migration draws at random would be the same in all copies: the installation's ID, its secret, and its first
 * tenant.
 */
const AS_ITSELF = `
  UPDATE redis_epoch SET installation_id = gen_random_uuid();
  UPDATE event_id_secret SET secret = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
  UPDATE tenants SET id = gen_random_uuid() WHERE no = 0`;

const LAST_QUERIES = 'SELECT left(query, 100) AS query FROM pg_stat_activity';

/** A database of the run's Postgres that nothing else uses: migrated, or empty. */
export async function freshDatabase(migrated: boolean): Promise<Part> {
  const server = await askForPostgres(inject('postgresAt'));
  const name = `laurel_test_${randomUUID().replaceAll('-', '')}`;
  const template = migrated ? ` TEMPLATE ${server.template}` : '';
  await onServer(server.url, `CREATE DATABASE ${name}${template}${server.strategy}`);
  const url = databaseUrl(server.url, name);
  if (migrated) await onServer(url, AS_ITSELF);
  return {
    url,
    close: async () => {
      const left = await leftBehind(() => onServer(server.url, `${LAST_QUERIES} WHERE datname = '${name}'`));
      await onServer(server.url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      const queries = left.map(({ query }) => String(query));
      expect(queries, `connections to Postgres that the test file left open: ${queries.join('; ')}`).toEqual([]);
    },
  };
}
