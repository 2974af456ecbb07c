import { expect, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const PATH = '/v1/metrics';
const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));

const create = async (...keys: string[]) =>
  (
    await laurel.admin.post(
      PATH,
      keys.map((key) => ({ key, name: key.toUpperCase() })),
    )
  ).body.created as { id: string; key: string }[];

test.each<[string, object[], RegExp]>([
  ['/v1/metrics', [{ key: 'strict', name: 'Strict' }, { key: 'other' }], /1 of 2 items is refused: item 1: name/],
  [
    '/v1/metrics',
    [
      { key: 'strict', name: 'Strict' },
      { key: 'flips', name: 'Known' },
    ],
    /^Nothing was created, .*item 1: key: another metric/,
  ],
  ['/v1/metrics', [1, 2, 3, 4, 5].map(() => ({ key: 'strict' })), /5 of 5 items are refused: .*and 2 more$/],
  ['/v1/points', [{ key: 'strict', name: 'Strict', levels: [{ name: 'L', key: 'l', points: -1 }] }], /^levels/],
  ['/v1/webhooks', [{ name: 'Strict', url: 'https://example.com/' }, { name: 'No URL' }], /item 1: url/],
  [
    '/v1/application-api-keys',
    [{ userId: 'a' }, { userId: 'b', expiresAt: '2020-01-01T00:00:00Z' }],
    /item 1: expiresAt/,
  ],
])('strict creations of %s are all or nothing: %j', async (path, items, text) => {
  const { body: before } = await laurel.admin.get(path);
  const { status, body } = await laurel.admin.post(`${path}?strict=true`, items);
  expect([status, body.error]).toEqual([422, expect.stringMatching(text)]);
  expect((await laurel.admin.get(path)).body).toEqual(before);
});

test('a strict creation without a refused item is like any other', async () => {
  const { status, body } = await laurel.admin.post(`${PATH}?strict=true`, [{ key: 'allowed', name: 'Allowed' }]);
  expect([status, body.created.length, body.issues]).toEqual([201, 1, []]);
  expect((await laurel.admin.delete(`${PATH}?ids=${body.created[0].id}`)).status).toBe(200);
});

test('admin_metrics_create: creates good items with defaults, and reports bad ones as issues', async () => {
  const { status, body } = await laurel.admin.post(PATH, [
    { key: 'words', name: 'Words', id: NOBODY },
    { key: 'words', name: 'Words again' },
    { key: 'sp ace', name: 'Space' },
    { key: 'cash', name: 'Cash', unitType: 'currency', units: 'EUR' },
    { key: 'x', name: '' },
    { name: 'No key' },
    7,
    { key: 'y', name: 'Y', unitType: 'kilo' },
    { key: 'flips', name: 'Flips again' },
    { key: 'blank', name: '  ' },
  ]);
  expect(status).toBe(201);
  expect(body.created).toEqual([
    { id: expect.any(String), key: 'words', name: 'Words', unitType: 'number', units: '' },
    { id: expect.any(String), key: 'cash', name: 'Cash', unitType: 'currency', units: 'EUR' },
  ]);
  expect(body.created[0].id).not.toBe(NOBODY);
  expect(body.issues.map(({ index, message }: { index: number; message: string }) => [index, message])).toEqual([
    [1, `key: another metric has the key 'words'`],
    [2, 'key must be letters, digits, hyphens and underscores only'],
    [4, 'name must not be empty'],
    [5, 'key is required'],
    [6, 'The item must be an object'],
    [7, 'unitType must be one of: number, currency'],
    [8, `key: another metric has the key 'flips'`],
    [9, 'name: must not be empty'],
  ]);
  expect(body.issues.every(({ severity }: { severity: string }) => severity === 'error')).toBe(true);
  expect((await laurel.admin.post(PATH, [{ key: 'words', name: 'x' }])).status).toBe(200);
  const event = await laurel.app.post('/v1/metrics/words/event', { user: { id: 'ada' }, value: 3 });
  expect([event.status, event.body.total]).toEqual([201, 3]);
});

test('a description is stored, shown, exported and cleared', async () => {
  const item = { key: 'spoken', name: 'Spoken', description: 'Sentences said aloud.' };
  const { body } = await laurel.admin.post(PATH, [item]);
  const { id } = body.created[0];
  expect((await laurel.admin.get(`${PATH}/${id}`)).body).toMatchObject(item);
  const { metrics } = (await laurel.admin.get('/v1/configuration')).body;
  expect(metrics.at(-1)).toMatchObject(item);
  const { body: diff } = await laurel.admin.post('/v1/configuration/diff', {
    metrics: metrics.map((metric: object) => ({ ...metric, description: undefined })),
  });
  expect(diff.changes).toEqual([
    {
      action: 'update',
      kind: 'metric',
      name: 'spoken',
      fields: ['description'],
      before: { description: item.description },
      after: {},
    },
  ]);
  await laurel.admin.patch(PATH, [{ id, description: null }]);
  expect((await laurel.admin.get(`${PATH}/${id}`)).body).not.toHaveProperty('description');
  await laurel.admin.delete(`${PATH}?ids=${id}`);
});

test.each(['post', 'patch'] as const)('%s: refuses a body that is not an array of 1 to 100', async (method) => {
  const item = { id: NOBODY, key: 'a', name: 'a' };
  for (const body of [[], Array.from({ length: 101 }, () => item), item]) {
    expect((await laurel.admin[method](PATH, body)).status).toBe(422);
  }
});

test('a hundred at once', async () => {
  const keys = Array.from({ length: 100 }, (_, index) => `hundred-${index}`);
  const created = await create(...keys);
  expect(created.map(({ key }) => key)).toEqual(keys);
  const ids = created.map(({ id }) => `ids=${id}`).join('&');
  expect((await laurel.admin.delete(`${PATH}?${ids}`)).body.deleted).toHaveLength(100);
});

test('admin_metrics_list pages, oldest first, and admin_metrics_get', async () => {
  const created = await create('list-1', 'list-2');
  const all = (await laurel.admin.get(`${PATH}?limit=100`)).body;
  expect(all.slice(-2)).toEqual(created);
  expect((await laurel.admin.get(`${PATH}?limit=1&skip=1`)).body).toEqual([all[1]]);
  expect((await laurel.admin.get(`${PATH}?skip=${all.length}`)).body).toEqual([]);
  expect((await laurel.admin.get(`${PATH}/${created[0]!.id.toUpperCase()}`)).body).toEqual(created[0]);
  for (const id of [NOBODY, 'no-uuid']) expect((await laurel.admin.get(`${PATH}/${id}`)).status).toBe(404);
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'skip=-1']) {
    expect((await laurel.admin.get(`${PATH}?${query}`)).status).toBe(422);
  }
});

test('admin_metrics_update changes the sent fields, and never the key', async () => {
  const [one, two] = await create('update-1', 'update-2');
  const { status, body } = await laurel.admin.patch(PATH, [
    { id: one!.id.toUpperCase(), name: 'Renamed', key: 'other' },
    { id: two!.id, units: 'km' },
    { id: two!.id, name: ' ' },
    { id: NOBODY, name: 'x' },
    { id: 'no-uuid', name: 'x' },
    { name: 'x' },
  ]);
  expect(status).toBe(200);
  expect(body.updated).toEqual([
    { ...one, name: 'Renamed' },
    { ...two, units: 'km' },
  ]);
  expect(body.issues).toEqual([
    { id: two!.id, ...says('error', 'name: must not be empty') },
    { id: NOBODY, ...says('error', 'There is no metric with this ID') },
    { id: 'no-uuid', ...says('error', 'id must be a UUID, not a key or name') },
    { index: 5, ...says('error', 'id is required') },
  ]);
  expect((await laurel.admin.get(`${PATH}/${two!.id}`)).body).toEqual({ ...two, units: 'km' });
});

test('admin_metrics_delete: keeps a metric in use, and names its users', async () => {
  const [one, two] = await create('delete-1', 'delete-2');
  const flips = (await laurel.admin.get(PATH)).body.find(({ key }: { key: string }) => key === 'flips');
  const { status, body } = await laurel.admin.delete(`${PATH}?ids=${one!.id},${two!.id}&ids=${flips.id}&ids=${NOBODY}`);
  expect(status).toBe(200);
  expect(body.deleted).toEqual([{ id: one!.id }, { id: two!.id }]);
  expect(body.issues).toEqual([
    {
      id: flips.id,
      ...says(
        'error',
        expect.stringMatching(
          /^In use by achievement 'ten', metric trigger \S+ of points system 'xp', leaderboard 'flips', leaderboard 'plans': change or delete them first$/,
        ),
      ),
    },
    { id: NOBODY, ...says('error', 'There is no metric with this ID') },
  ]);
  expect((await laurel.admin.get(`${PATH}/${one!.id}`)).status).toBe(404);
  const gone = await laurel.app.post('/v1/metrics/delete-1/event', { user: { id: 'ada' }, value: 1 });
  expect(gone.status).toBe(422);
  const [again] = await create('delete-1');
  expect(again!.id).not.toBe(one!.id);
  for (const query of ['', '?ids=', '?ids=no-uuid']) expect((await laurel.admin.delete(PATH + query)).status).toBe(422);
});

test('the streak settings use a metric, too', async () => {
  const [one] = await create('streaky');
  await laurel.admin.patch('/v1/streaks/settings', { metrics: [{ metricId: one!.id, threshold: 1 }] });
  const { body } = await laurel.admin.delete(`${PATH}?ids=${one!.id}`);
  expect(body.issues[0].message).toContain('In use by the streak settings');
  await laurel.admin.patch('/v1/streaks/settings', { metrics: [] });
  expect((await laurel.admin.delete(`${PATH}?ids=${one!.id}`)).body.deleted).toEqual([{ id: one!.id }]);
});

test('one of several concurrent requests for the same key gets it', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => laurel.admin.post(PATH, [{ key: 'contested', name: 'Contested' }])),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
});

test('records what changed, and by whom', async () => {
  const [one] = await create('recorded');
  await laurel.admin.patch(PATH, [{ id: one!.id, name: 'recorded' }]);
  await laurel.admin.patch(PATH, [{ id: one!.id, name: 'recorded' }]);
  await laurel.admin.delete(`${PATH}?ids=${one!.id}`);
  const { rows } = await laurel.pool.query('SELECT who, action, kind, id FROM audit_log ORDER BY no DESC LIMIT 3');
  const who = laurel.adminKey.split('.')[0];
  expect(rows.toReversed()).toEqual(
    ['create', 'update', 'delete'].map((action) => ({ who, action, kind: 'metric', id: one!.id })),
  );
});

test('another frontend soon knows the metric', async () => {
  const other = await laurel.another();
  await create('elsewhere');
  const event = { user: { id: 'bo' }, value: 1 };
  await expect.poll(async () => (await other.app.post('/v1/metrics/elsewhere/event', event)).status).toBe(201);
});

// Last: the configuration of the only tenant is suspended afterwards.
test('two tenants’ metrics never meet', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [
    { customerId: 'a', name: 'A' },
    { customerId: 'b', name: 'B' },
  ]);
  const ids: string[] = [];
  for (const tenantId of ['a', 'b']) {
    const { body } = await laurel.admin.post(PATH, [{ key: 'flips', name: tenantId }], { tenantId });
    expect((await laurel.admin.get(PATH, { tenantId })).body).toEqual(body.created);
    ids.push(body.created[0].id);
  }
  const ofB = { tenantId: 'b' };
  expect((await laurel.admin.get(`${PATH}/${ids[0]}`, ofB)).status).toBe(404);
  expect((await laurel.admin.patch(PATH, [{ id: ids[0], name: 'x' }], ofB)).body.updated).toEqual([]);
  expect((await laurel.admin.delete(`${PATH}?ids=${ids[0]}`, ofB)).body.deleted).toEqual([]);
  const foreign = { key: 'x', name: 'X', rankBy: 'metric', metricId: ids[0] };
  expect((await laurel.admin.post('/v1/leaderboards', [foreign], ofB)).body.created).toEqual([]);
  expect((await laurel.admin.get(PATH)).status).toBe(422);
});
