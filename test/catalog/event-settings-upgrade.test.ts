import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Pool } from 'pg';
import { DEFAULT_EVENT_SETTINGS } from '../../src/domain/event-settings.ts';
import { loadCatalog } from '../../src/postgres/load-catalog.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { migrateToBefore } from '../postgres/earlier-version.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

let stack: TestStack;
let pool: Pool;
beforeEach(async () => {
  stack = await testStack({ redis: false });
  pool = createPool(stack.databaseUrl, { max: 1 });
  await migrateToBefore(pool, '000045');
  await pool.query(`INSERT INTO tenants (id, customer_id, name) VALUES (gen_random_uuid(), 'acme', 'Acme')`);
});
afterEach(async () => {
  await pool.end();
  await stack.close();
});

const settings = async () => {
  const { rows } = await pool.query<{ no: number }>('SELECT no FROM tenants ORDER BY no');
  return Promise.all(rows.map(async ({ no }) => (await loadCatalog(pool, no))!.events));
};

test('what was set for the organisation holds for each of its tenants after the upgrade', async () => {
  await pool.query('UPDATE organisation SET late_event_days = 7, clients_may_send_late = true');
  await migrate(pool);
  const set = { lateEventDays: 7, clientsMaySendLate: true };
  expect(await settings()).toEqual([set, set]);
});

test('where nothing was set, the defaults hold', async () => {
  await migrate(pool);
  expect(await settings()).toEqual([DEFAULT_EVENT_SETTINGS, DEFAULT_EVENT_SETTINGS]);
});
