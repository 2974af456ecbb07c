import { expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

const CONFIGURATION = { metrics: [{ key: 'clicks', name: 'Clicks' }] };

const laurel = opened(() => startLaurel());

// Changes as another frontend commits them, before they are announced.

const switchTenants = (on: boolean): Promise<unknown> =>
  laurel.pool.query('UPDATE organisation SET multi_tenancy = $1, revision = revision + 1', [on]);

const addTenant = (customerId: string): Promise<unknown> =>
  laurel.pool.query(
    `WITH counted AS (UPDATE organisation SET revision = revision + 1)
     INSERT INTO tenants (id, customer_id, name) VALUES (gen_random_uuid(), $1, $1)`,
    [customerId],
  );

const event = (tenantId?: string) =>
  laurel.app.post(
    '/v1/metrics/clicks/event',
    { user: { id: 'ada' }, value: 1 },
    tenantId === undefined ? {} : { tenantId },
  );

test("a frontend that has not heard of another one's change neither applies calls to the wrong tenant nor refuses them", async () => {
  // With one tenant only, the header is ignored.
  expect((await laurel.admin.get('/v1/configuration', { tenantId: 'north' })).body.metrics).toEqual([]);

  await switchTenants(true);
  await addTenant('north');
  expect((await laurel.admin.put('/v1/configuration', CONFIGURATION, { tenantId: 'north' })).status).toBe(200);
  expect((await event('north')).body.total).toBe(1);

  await addTenant('south');
  expect((await laurel.admin.put('/v1/configuration', CONFIGURATION, { tenantId: 'south' })).status).toBe(200);
  expect((await event('south')).body.total).toBe(1);
  expect((await event('west')).status).toBe(422);
  expect((await event()).status).toBe(422);

  await switchTenants(false);
  expect((await laurel.admin.get('/v1/configuration')).body.metrics).toEqual([]);
});
