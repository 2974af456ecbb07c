import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const PATH = '/v1/webhooks';
const HOOK = { name: 'News', url: 'https://example.com/laurel', events: ['achievement.completed'] };
const NOBODY = '00000000-0000-7000-8000-000000000000';
let ids: { metric: string; board: string; system: string };
const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
beforeAll(async () => {
  const first = async (path: string): Promise<string> => (await laurel.admin.get(path)).body[0].id;
  ids = {
    metric: await first('/v1/metrics'),
    board: await first('/v1/leaderboards'),
    system: await first('/v1/points'),
  };
});

const create = async (...items: object[]) => laurel.admin.post(PATH, items);

test('stores, answers, replaces and clears (by null) a header and a filter as a whole', async () => {
  const filter = { metricIds: [ids.metric.toUpperCase()], leaderboardIds: [ids.board], pointsSystemIds: [ids.system] };
  const { body } = await create({ ...HOOK, header: 'X-Acme-Signature', filter });
  const [{ id, secret: _secret, ...shown }] = body.created;
  const stored = { metricIds: [ids.metric], leaderboardIds: [ids.board], pointsSystemIds: [ids.system] };
  expect(shown).toEqual({ ...HOOK, enabled: true, header: 'X-Acme-Signature', filter: stored });

  const update = async (item: object) => (await laurel.admin.patch(PATH, [{ id, ...item }])).body.updated[0];
  expect(await update({ name: 'Other' })).toMatchObject({ header: 'X-Acme-Signature', filter: stored });
  expect((await update({ filter: { leaderboardIds: [ids.board] } })).filter).toEqual({ leaderboardIds: [ids.board] });
  expect((await update({ filter: { metricIds: null } })).filter).toBeNull();
  expect(await update({ header: null, filter: null })).toMatchObject({ header: null, filter: null });
  const { body: recorded } = await laurel.admin.get(`/v1/audit-log?kind=webhook&resourceId=${id}`);
  expect(recorded[0]).toMatchObject({ before: { header: 'X-Acme-Signature' }, after: { header: null } });
  await laurel.admin.delete(`${PATH}?ids=${id}`);
});

test('refuses invalid headers and filters', async () => {
  const texts = async (...items: object[]): Promise<string[]> =>
    (await create(...items.map((item) => ({ ...HOOK, ...item })))).body.issues.map(
      ({ message }: { message: string }) => message,
    );
  const token = expect.stringContaining('header: must be the name of an HTTP header');
  expect(await texts({ header: 'X Signature' }, { header: 'X:Y' }, { header: 'X-Ünterschrift' })).toEqual([
    token,
    token,
    token,
  ]);
  const taken = ['Content-Type', 'host', 'Transfer-Encoding', 'webhook-id', 'Webhook-Signature', 'User-Agent'];
  expect(await texts(...taken.map((header) => ({ header })))).toEqual(
    taken.map((header) => `header: '${header}' has another meaning: choose another name`),
  );
  expect(await texts({ header: 'x'.repeat(65) }, { header: '' })).toEqual([
    'header must have at most 64 characters',
    'header must not be empty',
  ]);
  expect(
    await texts(
      { filter: { metricIds: [NOBODY], leaderboardIds: [ids.board, ids.metric] } },
      { filter: { pointsSystemIds: [ids.system, ids.system.toUpperCase()] } },
      { filter: { metricIds: ['flips'] } },
      { filter: { metricIds: [] } },
      { filter: { metricId: [ids.metric] } },
      { headr: 'X-Acme' },
    ),
  ).toEqual([
    `filter.metricIds[0]: unknown metric '${NOBODY}'; filter.leaderboardIds[1]: unknown leaderboard '${ids.metric}'`,
    'filter.pointsSystemIds: must not name anything twice',
    'filter.metricIds[0] must be a UUID, not a key or name',
    'filter.metricIds must have at least 1 item',
    'filter.metricId is not a known field (did you mean metricIds?)',
    'headr is not a known field (did you mean header?)',
  ]);
});

test('what a filter names cannot be deleted, by its operation or by a document', async () => {
  const { body } = await create({ ...HOOK, filter: { leaderboardIds: [ids.board] } });
  const [{ id }] = body.created;
  const refused = await laurel.admin.delete(`/v1/leaderboards?ids=${ids.board}`);
  expect(refused.body).toEqual({
    deleted: [],
    issues: [{ id: ids.board, ...says('error', "In use by webhook 'News': change or delete them first") }],
  });
  const { body: document } = await laurel.admin.get('/v1/configuration');
  const without = { ...document, leaderboards: document.leaderboards.slice(1) };
  const { key } = document.leaderboards[0];
  for (const answer of [
    await laurel.admin.put('/v1/configuration', without),
    await laurel.admin.post('/v1/configuration/diff', without),
  ])
    expect([answer.status, answer.body.error]).toEqual([
      422,
      `leaderboards: must keep '${key}', which the filter of webhook 'News' names: change the filter first`,
    ]);
  await laurel.admin.patch(PATH, [{ id, filter: null }]);
  expect((await laurel.admin.put('/v1/configuration', without)).status).toBe(200);
  expect((await laurel.admin.put('/v1/configuration', document)).status).toBe(200);
});

test('a tenant has at most 100 webhooks', async () => {
  const { body: before } = await laurel.admin.get(`${PATH}?limit=100`);
  const room = 100 - before.length;
  const { body } = await create(...Array.from({ length: 100 }, () => HOOK));
  expect(body.created.length).toBe(room);
  expect(body.issues).toEqual(
    Array.from({ length: before.length }, (_, at) => ({
      index: room + at,
      ...says('error', 'There are at most 100 webhooks: delete some first'),
    })),
  );
  const [{ id }] = body.created;
  expect((await laurel.admin.patch(PATH, [{ id, name: 'Still editable' }])).body.issues).toEqual([]);
});
