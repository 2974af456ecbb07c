import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect, test } from 'vitest';
import { DEMO } from '../../../../src/catalog/demo.ts';
import { startLaurel } from '../../../laurel.ts';
import { opened } from '../../../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: DEMO }));

const PATH = '/v1/configuration';

test('admin_configuration_put accepts the document of admin_configuration_get without changes', async () => {
  const { status, body } = await laurel.admin.get(PATH);
  expect(status).toBe(200);
  expect(body.achievements).toHaveLength(DEMO.achievements!.length);
  const again = await laurel.admin.put(PATH, body);
  expect(again).toMatchObject({ status: 200, body: { version: 1, changes: [] } });
});

test('admin_configuration_schema_get answers the schema of the document, without a key; a document may name it', async () => {
  const { status, body: schema } = await laurel.admin.get(`${PATH}/schema`, { key: null });
  expect(status).toBe(200);
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  const { body } = await laurel.admin.get(PATH);
  const document = { $schema: `${laurel.adminUrl}${PATH}/schema`, ...body };
  expect([ajv.validate(schema, document), ajv.errorsText()]).toEqual([true, 'No errors']);
  expect(await laurel.admin.put(PATH, document)).toMatchObject({ status: 200, body: { version: 1, changes: [] } });
  expect((await laurel.admin.get(PATH)).body).toEqual(body);
  expect(await laurel.admin.post(`${PATH}/diff`, { $schema: 1 })).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining('$schema must be a string') },
  });
});

test('admin_configuration_diff shows what admin_configuration_put then does', async () => {
  const document = { metrics: [...DEMO.metrics!, { key: 'pages-read', name: 'Pages read' }] };
  const changes = [{ action: 'create', kind: 'metric', name: 'pages-read' }];
  expect(await laurel.admin.post(`${PATH}/diff`, document)).toMatchObject({ status: 200, body: { changes } });
  expect((await laurel.admin.get(PATH)).body.metrics).toHaveLength(2);
  expect(await laurel.admin.put(PATH, document)).toMatchObject({ status: 200, body: { version: 2, changes } });
  const { rows } = await laurel.pool.query('SELECT who FROM audit_log ORDER BY no');
  expect(rows.at(-1)).toEqual({ who: laurel.adminKey.split('.')[0] });
});

test('an applied change applies to the next event, and soon in every other process', async () => {
  const other = await laurel.another();
  await other.app.post('/v1/metrics/flashcards-flipped/event', { user: { id: 'warm' }, value: 1 });
  const metrics = [...DEMO.metrics!, { key: 'brand-new', name: 'Brand new' }];
  const event = { user: { id: 'ada' }, value: 1 };
  await laurel.admin.put(PATH, { metrics });
  expect((await laurel.app.post('/v1/metrics/brand-new/event', event)).status).toBe(201);
  await expect.poll(async () => (await other.app.post('/v1/metrics/brand-new/event', event)).status).toBe(201);
});

test.each([
  ['a wrong type', { metrics: [{ key: 'x', name: 1 }] }, 400, 'metrics[0].name must be a string'],
  ['a key of other characters', { metrics: [{ key: 'a b', name: 'X' }] }, 400, 'metrics[0].key'],
  [
    'an unknown reference',
    { achievements: [{ key: 'a', name: 'A', trigger: 'metric', metricKey: 'x', metricValue: 1 }] },
    422,
    "achievements[0].metricKey: unknown metric 'x'",
  ],
  [
    'a list that omits what another one needs',
    { metrics: [] },
    422,
    "achievements[0].metricKey: unknown metric 'flashcards-flipped'",
  ],
])('refuses %s as a whole and names the field', async (_name, document, status, text) => {
  const before = (await laurel.admin.get(PATH)).body;
  const refused = await laurel.admin.put(PATH, document);
  expect(refused.status).toBe(status);
  expect(refused.body.error).toContain(text);
  expect((await laurel.admin.get(PATH)).body).toEqual(before);
});

test.each([
  [{ metrics: [{ key: 'a', name: 'A', colour: 'red' }] }, 'metrics[0].colour is not a known field'],
  [
    { leaderboards: [{ key: 'a', name: 'A', rankBy: 'streak', repetitionUnit: 'week' }] },
    'leaderboards[0].repetitionUnit is not a known field (did you mean runUnit?)',
  ],
  [{ streaks: { freezes: { inital: 1 } } }, 'streaks.freezes.inital is not a known field (did you mean initial?)'],
  [{ leaderbords: [] }, 'leaderbords is not a known field (did you mean leaderboards?)'],
])('refuses a document with an unknown field: %j', async (document, text) => {
  const before = (await laurel.admin.get(PATH)).body;
  for (const send of [laurel.admin.put(PATH, document), laurel.admin.post(`${PATH}/diff`, document)])
    expect(await send).toMatchObject({ status: 400, body: { error: text } });
  expect((await laurel.admin.get(PATH)).body).toEqual(before);
});

test('admin_streaks_settings_update sets what is sent', async () => {
  const path = '/v1/streaks/settings';
  const { body: before } = await laurel.admin.get(path);
  const { rows } = await laurel.pool.query(
    `SELECT id FROM catalog_resources WHERE kind = 'metric' ORDER BY no LIMIT 1`,
  );
  const changes = {
    frequency: 'weekly',
    metrics: [{ metricId: rows[0].id, threshold: 3 }],
    freezes: { enabled: true, max: 5 },
  };
  const { status, body } = await laurel.admin.patch(path, changes);
  expect(status).toBe(200);
  expect(body).toEqual({
    ...before,
    frequency: 'weekly',
    metrics: [{ key: 'flashcards-flipped', ...changes.metrics[0] }],
    freezes: {
      enabled: true,
      initial: 0,
      max: 5,
      startCount: 0,
      maxCount: 5,
      autoEarnInterval: null,
      autoEarnAmount: null,
    },
  });
  expect((await laurel.admin.get(path)).body).toEqual(body);
  expect((await laurel.admin.get(PATH)).body.streaks.metrics).toEqual([
    { metricKey: 'flashcards-flipped', threshold: 3 },
  ]);
  expect(await laurel.admin.patch(path, { frequency: 'hourly' })).toMatchObject({ status: 400 });
  expect(await laurel.admin.patch(path, { freezes: { maximum: 5 } })).toMatchObject({
    status: 400,
    body: { error: 'freezes.maximum is not a known field (did you mean maxCount?)' },
  });
  const unknown = { metrics: [{ metricId: '00000000-0000-7000-8000-000000000000', threshold: 1 }] };
  expect(await laurel.admin.patch(path, unknown)).toMatchObject({ status: 422 });
  expect((await laurel.admin.get(path)).body).toEqual(body);
});

test('achievements may share a name, archived or not; the document distinguishes them by ID', async () => {
  const own = await startLaurel();
  try {
    const one = { name: 'Early bird', trigger: 'streak', streakLength: 3 };
    const made = await own.admin.post('/v1/achievements', [
      { ...one, status: 'locked' },
      { ...one, streakLength: 7, status: 'active' },
      { name: 'Alone', trigger: 'streak', streakLength: 9 },
    ]);
    expect(made.body.issues).toEqual([]);
    const [first, second] = made.body.created;
    const both = { name: 'Both', trigger: 'achievement', achievementIds: [first.id, second.id] };
    expect((await own.admin.post('/v1/achievements', [both])).status).toBe(201);

    const { body } = await own.admin.get(PATH);
    expect(body.achievements).toMatchObject([
      { id: first.id, name: 'Early bird' },
      { id: second.id, name: 'Early bird' },
      { name: 'Alone' },
      { name: 'Both', achievementIds: [first.id, second.id] },
    ]);
    expect(body.achievements[2]).not.toHaveProperty('id');
    // They keep their identity in any order.
    for (const achievements of [body.achievements, body.achievements.toReversed()])
      expect((await own.admin.put(PATH, { ...body, achievements })).body.changes).toEqual([]);
    const renamed = [body.achievements[1], { ...body.achievements[0], description: 'Archived' }];
    const put = await own.admin.put(PATH, { ...body, achievements: [...renamed, ...body.achievements.slice(2)] });
    expect(put.body.changes).toMatchObject([{ action: 'update', kind: 'achievement', fields: ['description'] }]);
    expect((await own.admin.get(`/v1/achievements/${first.id}`)).body.description).toBe('Archived');
    expect((await own.admin.get(`/v1/achievements/${second.id}`)).body.description).toBeNull();

    const xp = { key: 'xp', name: 'XP', triggers: [{ type: 'achievement', points: 5, achievementName: 'Early bird' }] };
    const refused = await own.admin.put(PATH, { pointsSystems: [xp] });
    expect([refused.status, refused.body.error]).toEqual([422, expect.stringContaining('refer to it by its ID')]);
    const byId = { ...xp, triggers: [{ type: 'achievement', points: 5, achievementId: second.id }] };
    expect((await own.admin.put(PATH, { pointsSystems: [byId] })).status).toBe(200);
    const after = (await own.admin.get(PATH)).body;
    expect(after.pointsSystems[0].triggers).toMatchObject([{ achievementId: second.id }]);
    expect((await own.admin.put(PATH, after)).body.changes).toEqual([]);
  } finally {
    await own.close();
  }
});

const LONG = { name: 'n'.repeat(201), description: 'd'.repeat(2_001), url: `https://e.org/${'u'.repeat(2_035)}` };

test.each([
  [{ attributes: [{ key: 'a', name: LONG.name, type: 'user' }] }, 'attributes[0].name', 200],
  [{ metrics: [{ key: 'a', name: LONG.name }] }, 'metrics[0].name', 200],
  [{ metrics: [{ key: 'a', name: 'A', units: LONG.name }] }, 'metrics[0].units', 200],
  [{ achievements: [{ name: LONG.name, trigger: 'streak' }] }, 'achievements[0].name', 200],
  [
    { achievements: [{ name: 'A', trigger: 'api', description: LONG.description }] },
    'achievements[0].description',
    2_000,
  ],
  [{ achievements: [{ name: 'A', trigger: 'api', badge: { url: LONG.url } }] }, 'achievements[0].badge.url', 2_048],
  [{ pointsSystems: [{ key: 'a', name: LONG.name }] }, 'pointsSystems[0].name', 200],
  [{ pointsSystems: [{ key: 'a', name: 'A', description: LONG.description }] }, 'pointsSystems[0].description', 2_000],
  [{ pointsSystems: [{ key: 'a', name: 'A', badge: { url: LONG.url } }] }, 'pointsSystems[0].badge.url', 2_048],
  [
    { pointsSystems: [{ key: 'a', name: 'A', levels: [{ key: 'l', name: LONG.name, points: 1 }] }] },
    'pointsSystems[0].levels[0].name',
    200,
  ],
  [
    { pointsSystems: [{ key: 'a', name: 'A', boosts: [{ name: LONG.name, start: '2026-01-01', multiplier: 2 }] }] },
    'pointsSystems[0].boosts[0].name',
    200,
  ],
  [{ leaderboards: [{ key: 'a', name: LONG.name, rankBy: 'streak' }] }, 'leaderboards[0].name', 200],
  [
    { leaderboards: [{ key: 'a', name: 'A', rankBy: 'streak', description: LONG.description }] },
    'leaderboards[0].description',
    2_000,
  ],
])('refuses a text that is too long: %#', async (document, field, most) => {
  const refused = await laurel.admin.put(PATH, document);
  expect(refused.status).toBe(400);
  expect(refused.body.error).toContain(
    `${field} must have at most ${most.toLocaleString('en-US').replace(',', '')} characters`,
  );
});

test("each resource's operations limit the texts of an event's answer equally", async () => {
  const text = (field: string, most: number): string => `${field} must have at most ${most} characters`;
  const cases: [path: string, item: object, message: string][] = [
    ['/v1/attributes', { key: 'long', name: LONG.name, type: 'user' }, text('name', 200)],
    ['/v1/metrics', { key: 'long', name: LONG.name }, text('name', 200)],
    ['/v1/metrics', { key: 'long', name: 'Long', units: LONG.name }, text('units', 200)],
    ['/v1/achievements', { name: LONG.name, trigger: 'streak', streakLength: 1 }, text('name', 200)],
    ['/v1/achievements', { name: 'A', trigger: 'streak', description: LONG.description }, text('description', 2_000)],
    ['/v1/achievements', { name: 'A', trigger: 'streak', badge: { url: LONG.url } }, text('badge.url', 2_048)],
    ['/v1/points', { key: 'long', name: LONG.name }, text('name', 200)],
    ['/v1/points', { key: 'long', name: 'Long', description: LONG.description }, text('description', 2_000)],
    ['/v1/leaderboards', { key: 'long', name: LONG.name, rankBy: 'streak' }, text('name', 200)],
    [
      '/v1/leaderboards',
      { key: 'long', name: 'L', rankBy: 'streak', description: LONG.description },
      text('description', 2_000),
    ],
  ];
  for (const [path, item, message] of cases) {
    const { body } = await laurel.admin.post(path, [item]);
    expect(body).toMatchObject({ created: [], issues: [{ index: 0, message }] });
  }
  const longest = { name: 'é'.repeat(200), description: 'd'.repeat(2_000), trigger: 'streak', streakLength: 1 };
  const { body } = await laurel.admin.post('/v1/achievements', [longest]);
  expect(body.created).toMatchObject([{ name: longest.name }]);
  const { id } = body.created[0];
  const grown = await laurel.admin.patch('/v1/achievements', [{ id, name: LONG.name }]);
  expect(grown.body).toMatchObject({ updated: [], issues: [{ id, message: text('name', 200) }] });
});
