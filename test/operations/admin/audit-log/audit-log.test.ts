import { afterAll, beforeAll, expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { startLaurel, type TestLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';

const PATH = '/v1/audit-log';
const NOW = Date.UTC(2026, 10, 18, 12);
const clock = new FixedClock(NOW);
let laurel: TestLaurel;
let who: string;
beforeAll(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP, clock });
  who = laurel.adminKey.split('.')[0]!;
});
afterAll(() => laurel.close());

const log = async (query = 'limit=100', more = {}) => (await laurel.admin.get(`${PATH}?${query}`, more)).body;

test('a resource that is created, changed and deleted: who, when, what it was and is', async () => {
  const [metric] = (await laurel.admin.post('/v1/metrics', [{ key: 'laps', name: 'Laps', unitType: 'number' }])).body
    .created;
  clock.set(NOW + 1000);
  await laurel.admin.patch('/v1/metrics', [{ id: metric.id, name: 'Laps run' }]);
  await laurel.admin.patch('/v1/metrics', [{ id: metric.id, name: 'Laps run' }]);
  clock.set(NOW + 2000);
  await laurel.admin.delete(`/v1/metrics?ids=${metric.id}`);
  const entries = await log(`resourceId=${metric.id}`);
  const same = {
    who,
    kind: 'metric',
    resourceId: metric.id,
    name: 'laps',
    userId: null,
    version: expect.any(Number),
    address: '127.0.0.1',
    requestId: expect.stringMatching(/^[\w-]{1,64}$/),
  };
  expect(entries).toEqual([
    { ...same, action: 'delete', at: new Date(NOW + 2000).toISOString() },
    {
      ...same,
      action: 'update',
      at: new Date(NOW + 1000).toISOString(),
      before: { name: 'Laps' },
      after: { name: 'Laps run' },
    },
    { ...same, action: 'create', at: new Date(NOW).toISOString() },
  ]);
});

test('keys, tenants, the organisation, users who are deleted', async () => {
  const [made] = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'CI' }])).body.created;
  await laurel.admin.patch('/v1/admin-api-keys', [{ id: made.id, status: 'inactive' }]);
  await laurel.admin.post(`/v1/admin-api-keys/${made.id}/rotate`);
  await laurel.admin.delete(`/v1/admin-api-keys?ids=${made.id}`);
  expect((await log('kind=admin_key')).map((one: { action: string }) => one.action)).toEqual([
    'delete',
    'rotate',
    'update',
    'create',
  ]);
  expect((await log('kind=admin_key&limit=1&skip=2'))[0]).toMatchObject({
    who,
    name: `CI (${made.prefix})`,
    before: { status: 'active' },
    after: { status: 'inactive' },
  });

  const [application] = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }])).body.created;
  await laurel.admin.delete(`/v1/application-api-keys?ids=${application.id}`);
  expect(await log('kind=application_key')).toMatchObject([
    { action: 'delete', name: application.prefix },
    { action: 'create', name: application.prefix },
  ]);

  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada-secret' }, value: 1 });
  await laurel.admin.delete('/v1/users?ids=ada-secret');
  expect(await log('kind=users')).toMatchObject([{ action: 'delete', name: '1', who }]);
  expect(JSON.stringify(await log())).not.toContain('ada');

  const [tenant] = (await laurel.admin.post('/v1/tenants', [{ customerId: 'acme', name: 'Acme' }])).body.created;
  await laurel.admin.patch('/v1/tenants', [{ id: tenant.id, name: 'ACME' }]);
  await laurel.admin.delete(`/v1/tenants?ids=${tenant.id}`);
  expect((await log(`resourceId=${tenant.id}`)).map((one: { action: string }) => one.action)).toEqual([
    'delete',
    'update',
    'create',
  ]);
  await laurel.admin.patch('/v1/organisation', { name: 'Study' });
  expect((await log('kind=organisation'))[0]).toMatchObject({ before: { name: 'Laurel' }, after: { name: 'Study' } });
  for (const secret of [made.key, application.key])
    expect(JSON.stringify(await log())).not.toContain(secret.split('.')[1]);
});

test('paging, and whom it is by', async () => {
  const all = await log();
  expect(await log('limit=2&skip=1')).toEqual(all.slice(1, 3));
  expect(await log('who=nobody')).toEqual([]);
  expect((await log(`who=${who}&limit=100`)).length).toBe(all.length);
  for (const query of ['limit=0', 'limit=101', 'skip=-1', 'resourceId=x'])
    expect((await laurel.admin.get(`${PATH}?${query}`)).status).toBe(422);
});

test('a tenant’s log holds what is its own, and what is the organisation’s', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [{ customerId: 'blue', name: 'Blue' }]);
  await laurel.admin.post('/v1/metrics', [{ key: 'own', name: 'Own' }], { tenantId: 'blue' });
  const entries: { kind: string; name: string }[] = await log('limit=100', { tenantId: 'blue' });
  expect(entries.filter(({ kind }) => kind === 'metric').map(({ name }) => name)).toEqual(['own']);
  expect(entries.some(({ kind }) => kind === 'tenant')).toBe(true);
  expect((await laurel.admin.get(PATH)).status).toBe(422);
  await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
  expect((await log()).some(({ name }: { name: string }) => name === 'own')).toBe(false);
});
