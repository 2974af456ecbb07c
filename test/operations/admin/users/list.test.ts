import { beforeAll, expect, test, vi } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const USERS = [
  { id: 'anna-1', name: 'Anna Lovelace', email: 'anna@example.com', attributes: { plan: 'pro' } },
  { id: 'anna-2', name: 'Björk Ångström' },
  { id: 'B%_1', name: '  anna  ', email: 'Grace@Example.com' },
  { id: 'b1', email: 'anna.b@example.com' },
  { id: 'Ωmega' },
  { id: 'love', name: 'Zoë' },
];

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  for (const user of USERS) await laurel.app.post('/v1/users', user);
  await vi.waitUntil(async () => (await list()).length === USERS.length, { timeout: 120_000 });
});

const list = async (query = ''): Promise<string[]> =>
  (await laurel.admin.get(`/v1/users${query}`)).body.map(({ id }: { id: string }) => id);
const search = (text: string): Promise<string[]> => list(`?search=${encodeURIComponent(text)}`);

test('users in the order of their IDs, by bytes, a page at a time', async () => {
  const all = ['B%_1', 'anna-1', 'anna-2', 'b1', 'love', 'Ωmega'];
  expect(await list()).toEqual(all);
  expect(await list('?limit=2&skip=1')).toEqual(all.slice(1, 3));
  expect(await list('?skip=6')).toEqual([]);
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'skip=-1', `search=${'x'.repeat(256)}`])
    expect((await laurel.admin.get(`/v1/users?${query}`)).status).toBe(422);
});

test('after a user, the following ones in either order; a page that is not full is the last', async () => {
  const all = ['B%_1', 'anna-1', 'anna-2', 'b1', 'love', 'Ωmega'];
  expect(await list('?limit=2&after=anna-1')).toEqual(['anna-2', 'b1']);
  expect(await list('?after=anna')).toEqual(all.slice(1));
  expect(await list(`?after=${encodeURIComponent('Ωmega')}`)).toEqual([]);
  expect(await list('?order=desc&limit=2')).toEqual(['Ωmega', 'love']);
  expect(await list('?order=desc&after=love')).toEqual(all.slice(0, 4).toReversed());
  // Redis does not have a user whose deletion is not stored yet: others fill the page.
  await laurel.pool.query(`INSERT INTO users (tenant_no, id, created, state, attributes, points)
    VALUES (0, 'anna-0', now(), '', '{}', '{}')`);
  expect(await list('?limit=3')).toEqual(all.slice(0, 3));
  expect(await list('?limit=3&search=anna')).toEqual(['anna-1', 'anna-2', 'B%_1']);
  await laurel.pool.query(`DELETE FROM users WHERE id = 'anna-0'`);
});

test('a search continues after a user that it found', async () => {
  const pages: string[] = [];
  for (let after = ''; pages.length < 4; after = `&after=${encodeURIComponent(pages.at(-1)!)}`)
    pages.push(...(await list(`?search=anna&limit=1${after}`)));
  expect(pages).toEqual(['anna-1', 'anna-2', 'B%_1', 'b1']);
  expect(await list('?search=anna&after=b1')).toEqual([]);
});

test.each([
  ['skip=1&after=b1', 'skip'],
  ['order=desc&search=anna', 'order'],
  ['order=up', 'order'],
  ['after=', 'after'],
  ['search=anna&after=love', 'after'],
  ['search=anna&after=nobody', 'after'],
])('%s is 422, which names %s', async (query, field) => {
  const { status, body } = await laurel.admin.get(`/v1/users?${query}`);
  expect([status, body.error]).toEqual([422, expect.stringMatching(new RegExp(`^${field}`))]);
});

test('a user looks the same as in the Application API', async () => {
  const [found] = (await laurel.admin.get('/v1/users?search=anna-1')).body;
  expect(found).toEqual((await laurel.app.get('/v1/users/anna-1')).body);
  expect(found).toMatchObject({ name: 'Anna Lovelace', attributes: { plan: 'pro' } });
});

test('a search matches the beginning of ID, name, last name and e-mail, in this order, nobody twice', async () => {
  expect(await search('anna')).toEqual(['anna-1', 'anna-2', 'B%_1', 'b1']);
  expect(await search('ANNA')).toEqual(['B%_1', 'anna-1', 'b1']);
  expect(await search('love')).toEqual(['love', 'anna-1']);
  expect(await search('grace@')).toEqual(['B%_1']);
  expect(await search('ång')).toEqual(['anna-2']);
  expect(await search('ÅNGSTRÖM')).toEqual(['anna-2']);
  expect(await search('Ω')).toEqual(['Ωmega']);
  expect(await search('B%')).toEqual(['B%_1']);
  expect(await search('%')).toEqual([]);
  expect(await search('nobody')).toEqual([]);
});

test('the pages of a search are consecutive', async () => {
  const pages: string[] = [];
  for (let skip = 0; skip < 5; skip += 1) pages.push(...(await list(`?search=anna&limit=1&skip=${skip}`)));
  expect(pages).toEqual(['anna-1', 'anna-2', 'B%_1', 'b1']);
});

test('soon finds a name that an event changes, and no longer the old one; a dropped e-mail neither', async () => {
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'b1', name: 'Kurt Gödel' }, value: 1 });
  await expect.poll(async () => (await search('gödel')).join()).toBe('b1');
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'b1', name: 'Alan' }, value: 1 });
  await expect.poll(async () => (await search('kurt')).length).toBe(0);
  await laurel.app.patch('/v1/users/b1', { subscribeToEmails: false });
  await expect.poll(async () => (await search('anna.b')).length).toBe(0);
  expect(await search('alan')).toEqual(['b1']);
});

test('a tenant has its own users', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [{ customerId: 'other', name: 'Other' }]);
  expect((await laurel.admin.get('/v1/users')).status).toBe(422);
  expect((await laurel.admin.get('/v1/users', { tenantId: 'other' })).body).toEqual([]);
  expect((await laurel.admin.get('/v1/users?search=anna', { tenantId: 'other' })).body).toEqual([]);
  const gone = await laurel.admin.delete('/v1/users?ids=love', { tenantId: 'other' });
  expect(gone.body).toMatchObject({ deleted: [], issues: [{ id: 'love' }] });
  await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
  expect((await laurel.app.get('/v1/users/love')).status).toBe(200);
});
