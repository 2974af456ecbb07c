import { expect, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));

const PATH = '/v1/tenants';
const create = (...customerIds: string[]) =>
  laurel.admin.post(
    PATH,
    customerIds.map((customerId) => ({ customerId, name: customerId.toUpperCase() })),
  );

test('admin_tenants_create: creates good items, and reports bad ones as issues', async () => {
  const { status, body } = await laurel.admin.post(PATH, [
    { customerId: 'acme', name: 'Acme' },
    { customerId: 'acme', name: 'Acme again' },
    { customerId: '', name: 'Nobody' },
    { customerId: 'x'.repeat(256), name: 'Long' },
    { name: 'No ID' },
    'no object',
  ]);
  expect(status).toBe(201);
  expect(body.created).toEqual([expect.objectContaining({ customerId: 'acme', name: 'Acme', status: 'active' })]);
  expect(body.issues).toEqual([
    { index: 1, ...says('error', 'Another tenant has this customerId') },
    { index: 2, ...says('error', 'customerId must not be empty') },
    { index: 3, ...says('error', 'customerId must have at most 255 characters') },
    { index: 4, ...says('error', 'customerId is required') },
    { index: 5, ...says('error', 'The item must be an object') },
  ]);
  expect((await create('acme')).status).toBe(200);
});

test.each([
  [[]],
  [Array.from({ length: 101 }, () => ({ customerId: 'a', name: 'a' }))],
  [{ customerId: 'a', name: 'a' }],
])('refuses a body that is not an array of 1 to 100: %#', async (body) =>
  expect((await laurel.admin.post(PATH, body)).status).toBe(422),
);

test('admin_tenants_list and admin_tenants_get', async () => {
  const { body } = await create('list-1', 'list-2', 'list-3');
  const ids = body.created.map(({ id }: { id: string }) => id);
  const all = (await laurel.admin.get(`${PATH}?limit=100`)).body;
  expect(all.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining(ids));
  expect((await laurel.admin.get(`${PATH}?limit=2&skip=${all.length - 1}`)).body).toEqual([all.at(-1)]);
  expect((await laurel.admin.get(`${PATH}/${ids[0].toUpperCase()}`)).body).toEqual(body.created[0]);
  for (const id of [NOBODY, 'no-uuid']) expect((await laurel.admin.get(`${PATH}/${id}`)).status).toBe(404);
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'skip=-1']) {
    expect((await laurel.admin.get(`${PATH}?${query}`)).status).toBe(422);
  }
});

test('admin_tenants_update', async () => {
  const [one, two] = (await create('update-1', 'update-2')).body.created;
  const { status, body } = await laurel.admin.patch(PATH, [
    { id: one.id, name: 'Renamed' },
    { id: two.id, customerId: 'update-1' },
    { id: NOBODY, name: 'x' },
    { id: 'urn:uuid:00000000-0000-7000-8000-000000000000' },
    { name: 'x' },
    { id: one.id },
  ]);
  expect(status).toBe(200);
  expect(body.updated).toEqual([
    expect.objectContaining({ id: one.id, name: 'Renamed', customerId: 'update-1', created: one.created }),
  ]);
  expect(body.issues).toEqual([
    { id: two.id, ...says('error', 'Another tenant has this customerId') },
    { id: NOBODY, ...says('error', 'There is no tenant with this ID') },
    { id: 'urn:uuid:00000000-0000-7000-8000-000000000000', ...says('error', 'id must be a UUID, not a key or name') },
    { index: 4, ...says('error', 'id is required') },
    { id: one.id, ...says('error', 'customerId or name is required') },
  ]);
});

test('admin_tenants_delete accepts IDs repeated and comma-separated', async () => {
  const [one, two, three] = (await create('delete-1', 'delete-2', 'delete-3')).body.created;
  const { status, body } = await laurel.admin.delete(`${PATH}?ids=${one.id},${two.id}&ids=${three.id}&ids=${NOBODY}`);
  expect(status).toBe(200);
  expect(body).toEqual({
    deleted: [{ id: one.id }, { id: two.id }, { id: three.id }],
    issues: [{ id: NOBODY, ...says('error', 'There is no tenant with this ID') }],
  });
  expect((await laurel.admin.get(`${PATH}/${one.id}`)).status).toBe(404);
  for (const query of ['', '?ids=', '?ids=no-uuid']) expect((await laurel.admin.delete(PATH + query)).status).toBe(422);
});

test('admin_organisation_update switches tenants on and off; nothing of two tenants meets', async () => {
  await create('blue', 'red');
  const put = (tenantId: string, name: string) =>
    laurel.admin.put('/v1/configuration', { metrics: [{ key: 'clicks', name }] }, { tenantId });
  const event = (tenantId?: string, metric = 'clicks') =>
    laurel.app.post(
      `/v1/metrics/${metric}/event`,
      { user: { id: 'ada' }, value: 1 },
      tenantId === undefined ? {} : { tenantId },
    );
  const own = (await event(undefined, 'flips')).body;

  expect((await laurel.admin.patch('/v1/organisation', { multiTenancy: true })).body).toMatchObject({
    multiTenancy: true,
  });
  expect((await put('blue', 'Blue clicks')).status).toBe(200);
  expect((await put('red', 'Red clicks')).status).toBe(200);
  expect([(await event('blue')).body.total, (await event('blue')).body.total, (await event('red')).body.total]).toEqual(
    [1, 2, 1],
  );
  expect((await laurel.admin.get('/v1/configuration', { tenantId: 'red' })).body.metrics[0].name).toBe('Red clicks');
  expect((await event()).status).toBe(422);
  expect((await event('green')).status).toBe(422);
  expect((await laurel.admin.get(PATH)).status).toBe(200);

  const made = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }], { tenantId: 'red' });
  const [{ key, id }] = made.body.created;
  const withKey = (tenantId: string) =>
    laurel.app.post('/v1/metrics/clicks/event', { user: { id: 'ada' }, value: 1 }, { tenantId, key });
  expect([(await withKey('red')).status, (await withKey('blue')).status]).toEqual([201, 403]);
  const elsewhere = await laurel.admin.delete(`/v1/application-api-keys?ids=${id}`, { tenantId: 'blue' });
  expect(elsewhere.body).toMatchObject({ deleted: [], issues: [{ id }] });

  await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
  expect((await event(undefined, 'flips')).body.total).toBe(own.total + 1);
});

test('admin_organisation_get shows what admin_organisation_update set, which refuses invalid values', async () => {
  await laurel.admin.patch('/v1/organisation', { name: 'Study', controlShare: 0.25 });
  expect((await laurel.admin.get('/v1/organisation')).body).toEqual({
    name: 'Study',
    multiTenancy: false,
    controlShare: 0.25,
    demo: false,
    boardValues: 'byClient',
    rateLimit: null,
  });
  for (const body of [{ controlShare: 1.1 }, { multiTenancy: 'yes' }, { name: '' }]) {
    expect((await laurel.admin.patch('/v1/organisation', body)).status).toBe(400);
  }
});

test('admin_application_api_keys_create: one key per item; bad ones are issues', async () => {
  const { status, body } = await laurel.admin.post('/v1/application-api-keys', [
    { userId: 'ada' },
    { userId: '' },
    { userId: 'ada' },
  ]);
  expect(status).toBe(201);
  expect(body.created.map(({ userId }: { userId: string }) => userId)).toEqual(['ada', 'ada']);
  expect(body.created[0].key).toMatch(/^app_[a-z0-9]{8}\.[A-Za-z0-9_-]{43}$/);
  expect(body.issues).toEqual([{ index: 1, userId: '', ...says('error', 'userId must not be empty') }]);
  expect((await laurel.admin.post('/v1/application-api-keys', [{}])).status).toBe(200);
});
