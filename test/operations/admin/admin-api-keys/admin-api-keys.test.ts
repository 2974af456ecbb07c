import { beforeAll, beforeEach, expect, test } from 'vitest';
import { countRevision } from '../../../../src/postgres/revisions.ts';
import { startLaurel } from '../../../laurel.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const PATH = '/v1/admin-api-keys';
const LAST = 'This is the last active admin key with full access: create or activate another one first';
let first: string;

const laurel = opened(() => startLaurel());
beforeAll(async () => {
  first = (await laurel.admin.get(PATH)).body[0].id;
});
beforeEach(async () => {
  await laurel.pool.query('DELETE FROM admin_keys WHERE id <> $1', [first]);
});

const make = async (name = 'CI'): Promise<{ id: string; key: string; prefix: string }> =>
  (await laurel.admin.post(PATH, [{ name }])).body.created[0];
const statusWith = async (key: string): Promise<number> => (await laurel.admin.get('/v1/metrics', { key })).status;
const refused = async (key: string, client = laurel): Promise<void> => {
  await expect.poll(async () => (await client.admin.get('/v1/metrics', { key })).status).toBe(401);
};

test('created keys work on both surfaces and are shown once; bad items are issues', async () => {
  const { status, body } = await laurel.admin.post(PATH, [{ name: 'CI' }, { name: '' }, {}]);
  expect(status).toBe(201);
  expect(body.created).toEqual([
    {
      id: expect.any(String),
      name: 'CI',
      prefix: expect.stringMatching(/^adm_[a-z0-9]{8}$/),
      status: 'active',
      access: 'full',
      tenantId: null,
      created: expect.any(String),
      lastUsed: null,
      key: expect.stringMatching(/^adm_[a-z0-9]{8}\..{43}$/),
    },
  ]);
  expect(body.issues).toEqual([
    { index: 1, ...says('error', 'name must not be empty') },
    { index: 2, ...says('error', 'name is required') },
  ]);
  const [{ key, prefix, id }] = body.created;
  expect(await statusWith(key)).toBe(200);
  expect((await laurel.app.get('/v1/users/nobody', { key })).status).toBe(404);
  const listed = (await laurel.admin.get(PATH)).body;
  expect(listed.map((one: { id: string }) => one.id)).toEqual([first, id]);
  expect(JSON.stringify(listed)).not.toContain(key.slice(prefix.length + 1));
  expect((await laurel.admin.post(PATH, [{}])).status).toBe(200);
  expect((await laurel.admin.post(PATH, [])).status).toBe(422);
  expect((await laurel.admin.get(`${PATH}?limit=1&skip=1`)).body).toHaveLength(1);
  expect((await laurel.admin.get(`${PATH}?limit=101`)).status).toBe(422);
});

test('the list shows when a key was used last', async () => {
  const { id, key } = await make();
  const before = Date.now();
  await statusWith(key);
  let lastUsed: string | null = null;
  await expect
    .poll(async () => {
      lastUsed = (await laurel.admin.get(PATH)).body.find((one: { id: string }) => one.id === id).lastUsed;
      return lastUsed !== null;
    })
    .toBe(true);
  expect(Date.parse(lastUsed!)).toBeGreaterThanOrEqual(before - 1);
  expect(Date.parse(lastUsed!)).toBeLessThanOrEqual(Date.now());
  // Once a minute is enough, also for a process that reads the key again meanwhile.
  const { rows } = await laurel.pool.query(
    `UPDATE admin_keys SET last_used = last_used - INTERVAL '1 second' WHERE id = $1 RETURNING last_used`,
    [id],
  );
  for (let n = 0; n < 5; n += 1) await statusWith(key);
  expect((await laurel.pool.query('SELECT last_used FROM admin_keys WHERE id = $1', [id])).rows).toEqual(rows);
});

test('every process refuses an inactive key, and accepts it when it is active again', async () => {
  const other = await laurel.another();
  const { id, key } = await make('before');
  expect((await other.admin.get('/v1/metrics', { key })).status).toBe(200);
  const { status, body } = await laurel.admin.patch(PATH, [
    { id, status: 'inactive', name: 'after' },
    { id: NOBODY, name: 'x' },
    { id, status: 'gone' },
  ]);
  expect(status).toBe(200);
  expect(body.updated).toEqual([expect.objectContaining({ id, name: 'after', status: 'inactive' })]);
  expect(body.issues).toEqual([
    { id: NOBODY, ...says('error', 'There is no admin key with this ID') },
    { id, ...says('error', 'status must be one of: active, inactive') },
  ]);
  await refused(key);
  await expect.poll(async () => (await other.admin.get('/v1/metrics', { key })).status).toBe(401);
  await laurel.admin.patch(PATH, [{ id, status: 'active' }]);
  await expect.poll(async () => (await other.admin.get('/v1/metrics', { key })).status).toBe(200);
});

test('a rotated key has another secret under the same prefix; the old one is invalid', async () => {
  const { id, key, prefix } = await make();
  expect(await statusWith(key)).toBe(200);
  const { status, body } = await laurel.admin.post(`${PATH}/${id}/rotate`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ id, prefix, status: 'active' });
  expect(body.key).not.toBe(key);
  await refused(key);
  expect(await statusWith(body.key)).toBe(200);
  for (const unknown of [NOBODY, 'no-uuid'])
    expect((await laurel.admin.post(`${PATH}/${unknown}/rotate`)).status).toBe(404);
});

test('refuses a deleted key; unknown ones are issues', async () => {
  const { id, key } = await make();
  expect(await statusWith(key)).toBe(200);
  expect((await laurel.admin.delete(`${PATH}?ids=${id},${NOBODY}`)).body).toEqual({
    deleted: [{ id }],
    issues: [{ id: NOBODY, ...says('error', 'There is no admin key with this ID') }],
  });
  await refused(key);
});

test('the last active key can be neither deleted nor deactivated; another one can, also by itself', async () => {
  expect((await laurel.admin.delete(`${PATH}?ids=${first}`)).body).toEqual({
    deleted: [],
    issues: [{ id: first, ...says('error', LAST) }],
  });
  expect((await laurel.admin.patch(PATH, [{ id: first, status: 'inactive' }])).body).toEqual({
    updated: [],
    issues: [{ id: first, ...says('error', LAST) }],
  });
  const { id, key } = await make();
  await laurel.admin.patch(PATH, [{ id, status: 'inactive' }]);
  // An inactive one does not replace it, and can itself be deleted.
  expect((await laurel.admin.delete(`${PATH}?ids=${first}`)).body.deleted).toEqual([]);
  await laurel.admin.patch(PATH, [{ id, status: 'active' }]);
  await expect.poll(() => statusWith(key)).toBe(200);
  expect((await laurel.admin.delete(`${PATH}?ids=${id}`, { key })).body.deleted).toEqual([{ id }]);
  await refused(key);
  // Of all keys in one request one stays.
  const two = await make();
  const { body } = await laurel.admin.delete(`${PATH}?ids=${two.id},${first}`);
  expect(body).toMatchObject({ deleted: [{ id: two.id }], issues: [{ id: first, message: LAST }] });
});

test('concurrent requests that would together remove every key leave one', async () => {
  for (let round = 0; round < 5; round += 1) {
    const keys = [await make(), await make(), await make()];
    await Promise.all([
      ...keys.map(({ id }) => laurel.admin.delete(`${PATH}?ids=${id}`)),
      laurel.admin.patch(PATH, [{ id: first, status: 'inactive' }]),
    ]);
    const { rows } = await laurel.pool.query(`SELECT id FROM admin_keys WHERE status = 'active'`);
    expect(rows.length).toBe(1);
    await laurel.pool.query(`UPDATE admin_keys SET status = 'active' WHERE id = $1`, [first]);
    await countRevision(laurel.pool);
    await expect.poll(async () => (await laurel.admin.get('/v1/metrics')).status).toBe(200);
  }
});

test('creates, lists and changes a read-only key, and one of a tenant', async () => {
  await laurel.admin.post('/v1/tenants', [{ customerId: 'acme', name: 'Acme' }]);
  const { status, body } = await laurel.admin.post(PATH, [
    { name: 'reads', access: 'read' },
    { name: 'of acme', tenantId: 'acme' },
    { name: 'of nobody', tenantId: 'nobody' },
    { name: 'odd', access: 'write' },
  ]);
  expect(status).toBe(201);
  expect(body.created).toEqual([
    expect.objectContaining({ name: 'reads', access: 'read', tenantId: null }),
    expect.objectContaining({ name: 'of acme', access: 'full', tenantId: 'acme' }),
  ]);
  expect(body.issues).toEqual([
    { index: 2, ...says('error', 'tenantId: there is no active tenant with this ID') },
    { index: 3, ...says('error', 'access must be one of: full, read') },
  ]);
  const listed: { name: string; access: string; tenantId: string | null }[] = (await laurel.admin.get(PATH)).body;
  expect(listed.slice(1).map(({ access, tenantId }) => [access, tenantId])).toEqual([
    ['read', null],
    ['full', 'acme'],
  ]);
  const [reads] = body.created;
  await laurel.admin.get('/v1/metrics', { key: reads.key });
  expect((await laurel.admin.patch(PATH, [], { key: reads.key })).status).toBe(403);
  const changed = await laurel.admin.patch(PATH, [{ id: reads.id, access: 'full' }]);
  expect(changed.body.updated).toEqual([expect.objectContaining({ id: reads.id, access: 'full' })]);
  await expect.poll(async () => (await laurel.admin.patch(PATH, [], { key: reads.key })).status).toBe(422);
});

test('the last unrestricted key stays, however many read-only keys and keys of tenants there are', async () => {
  await laurel.admin.post('/v1/tenants', [{ customerId: 'north', name: 'North' }]);
  const others = (
    await laurel.admin.post(PATH, [
      { name: 'reads', access: 'read' },
      { name: 'of north', tenantId: 'north' },
    ])
  ).body.created;
  expect((await laurel.admin.delete(`${PATH}?ids=${first}`)).body.issues).toMatchObject([{ id: first, message: LAST }]);
  for (const change of [{ status: 'inactive' }, { access: 'read' }])
    expect((await laurel.admin.patch(PATH, [{ id: first, ...change }])).body.issues).toMatchObject([
      { id: first, message: LAST },
    ]);
  // Those can be deleted and changed at any time.
  const ids = others.map(({ id }: { id: string }) => id);
  await laurel.admin.patch(PATH, [{ id: ids[1], access: 'read' }]);
  expect((await laurel.admin.delete(`${PATH}?ids=${ids.join(',')}`)).body.deleted).toHaveLength(2);
});

test('concerns the organisation: needs no Tenant-ID', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  expect((await laurel.admin.get(PATH)).status).toBe(200);
  await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
});
