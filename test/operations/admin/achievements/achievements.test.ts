import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const PATH = '/v1/achievements';
let metricId: string;
let plan: string;
let deck: string;
const known = new Map<string, string>();
const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
beforeAll(async () => {
  metricId = (await laurel.admin.get('/v1/metrics')).body[0].id;
  const attributes = (await laurel.admin.get('/v1/attributes')).body;
  plan = attributes.find(({ key }: { key: string }) => key === 'plan').id;
  deck = attributes.find(({ key }: { key: string }) => key === 'deck').id;
  for (const { key, id } of (await laurel.admin.get(PATH)).body) known.set(key, id);
});

const make = async (item: object) => {
  const { body } = await laurel.admin.post(PATH, [item]);
  expect(body.issues).toEqual([]);
  return body.created[0];
};
const update = async (id: string, item: object) => {
  const { body } = await laurel.admin.patch(PATH, [{ id, ...item }]);
  return body.updated[0] ?? body.issues[0].message;
};

test('admin_achievements_create: each trigger with its fields', async () => {
  const userAttributes = [{ attributeId: plan, attributeValue: 'pro' }];
  const eventAttributes = [{ attributeId: deck, attributeValue: 'a' }];
  const good = [
    { name: 'M', key: 'm', trigger: 'metric', metricId, metricValue: 2.5, userAttributes, eventAttributes },
    { name: 'Y', trigger: 'anniversary', anniversaryYears: 2 },
    {
      name: 'S',
      trigger: 'streak',
      streakLength: 3,
      badge: { url: 'https://x.test/x.png' },
      description: 'Three days',
    },
    { name: 'A', key: 'a', trigger: 'api', status: 'locked' },
    { name: 'C', trigger: 'achievement', achievementIds: [known.get('ten'), known.get('day')] },
  ];
  const bad: [object, string][] = [
    [{ name: 'X', trigger: 'api' }, `key: required for trigger 'api'`],
    [{ name: 'X', key: 'ten', trigger: 'api' }, `key: another achievement has the key 'ten'`],
    [{ name: 'X', trigger: 'metric', metricId }, `metricValue: required for trigger 'metric'`],
    [{ name: 'X', trigger: 'metric', metricId: NOBODY, metricValue: 1 }, `metricId: unknown metric '${NOBODY}'`],
    [{ name: 'X', trigger: 'metric', metricId, metricValue: 0 }, 'metricValue must be greater than 0'],
    [{ name: 'X', trigger: 'streak', streakLength: 1, metricId }, `metricId: only for trigger 'metric'`],
    [
      { name: 'X', trigger: 'achievement', achievementIds: [NOBODY] },
      `achievementIds[0]: unknown achievement '${NOBODY}'`,
    ],
    [{ name: 'X', trigger: 'dream' }, 'trigger must be one of: metric, streak, api, achievement, anniversary'],
    [{ trigger: 'api', key: 'x' }, 'name is required'],
  ];
  const { status, body } = await laurel.admin.post(PATH, [...good, ...bad.map(([item]) => item)]);
  expect(status).toBe(201);
  const base = { id: expect.any(String), status: 'inactive', description: null, badge: null, userAttributes: [] };
  expect(body.created).toEqual(good.map((item) => ({ ...base, ...item })));
  expect(body.issues.map(({ message }: { message: string }) => message)).toEqual(bad.map(([, message]) => message));
  for (const made of body.created) expect((await laurel.admin.get(`${PATH}/${made.id}`)).body).toEqual(made);
  expect((await laurel.admin.get(`${PATH}?limit=2&skip=4`)).body).toEqual(body.created.slice(0, 2));
});

test('admin_achievements_update: a trigger can change only while inactive', async () => {
  const { id } = await make({ name: 'Changing', trigger: 'metric', metricId, metricValue: 5, status: 'active' });
  const change = { trigger: 'streak', streakLength: 2 };
  const refusal = `trigger: can be changed only while the achievement is inactive: set status 'inactive' first`;
  expect(await update(id, change)).toBe(refusal);
  await update(id, { status: 'locked' });
  expect(await update(id, change)).toBe(refusal);
  const changed = await update(id, { ...change, status: 'inactive' });
  expect(changed).toMatchObject(change);
  for (const name of ['metricId', 'metricValue', 'eventAttributes']) expect(changed).not.toHaveProperty(name);
  expect(await update(id, { description: 'x', badge: { url: 'https://x.test/y.png' } })).toMatchObject({
    description: 'x',
    badge: { url: 'https://x.test/y.png' },
  });
  expect(await update(id, { description: null, badge: null })).toMatchObject({ description: null, badge: null });
});

test('a key may be given later, and is permanent then', async () => {
  const { id } = await make({ name: 'Keyless', trigger: 'streak', streakLength: 50 });
  expect(await update(id, { key: 'ten' })).toBe(`key: another achievement has the key 'ten'`);
  expect(await update(id, { key: 'named' })).toMatchObject({ key: 'named' });
  expect(await update(id, { key: 'named', name: 'Keyed' })).toMatchObject({ name: 'Keyed' });
  expect(await update(id, { key: 'renamed' })).toBe(`key: cannot be changed: it is 'named'`);
});

test('composites do not form a cycle', async () => {
  const inner = await make({ name: 'Inner', key: 'inner', trigger: 'achievement', achievementIds: [known.get('ten')] });
  const outer = await make({ name: 'Outer', key: 'outer', trigger: 'achievement', achievementIds: [inner.id] });
  expect(await update(inner.id, { achievementIds: [outer.id] })).toBe(
    'achievementIds: form a cycle: inner → outer → inner',
  );
  expect(await update(inner.id, { achievementIds: [inner.id] })).toContain('form a cycle');
  expect(await update(inner.id, { achievementIds: [known.get('day')!.toUpperCase()] })).toMatchObject({
    achievementIds: [known.get('day')],
  });

  const part = await laurel.admin.delete(`${PATH}?ids=${inner.id}`);
  expect(part.body.issues).toEqual([
    { id: inner.id, ...says('error', `In use by achievement 'outer': change or delete them first`) },
  ]);
  const both = await laurel.admin.delete(`${PATH}?ids=${inner.id},${outer.id}`);
  expect(both.body).toEqual({ deleted: [{ id: inner.id }, { id: outer.id }], issues: [] });
});

test('admin_achievements_delete: keeps one that a trigger pays for', async () => {
  const { body } = await laurel.admin.delete(`${PATH}?ids=${known.get('ten')}`);
  expect(body.deleted).toEqual([]);
  expect(body.issues[0].message).toMatch(
    /^In use by achievement 'both', (achievement 'C', )?achievement trigger \S+ of points system 'xp': change/,
  );
});

test('an achievement can be completed as soon as it is active', async () => {
  const made = await make({ name: 'Minute', key: 'minute', trigger: 'metric', metricId, metricValue: 1 });
  const event = async (id: string) =>
    (await laurel.app.post('/v1/metrics/flips/event', { user: { id }, value: 1 })).body.achievements.map(
      ({ key }: { key: string }) => key,
    );
  expect(await event('one')).not.toContain('minute');
  await update(made.id, { status: 'active' });
  expect(await event('two')).toContain('minute');
});

test('exporting and applying the configuration after these creations changes nothing', async () => {
  const { body } = await laurel.admin.get('/v1/configuration');
  const applied = await laurel.admin.put('/v1/configuration', body);
  expect([applied.status, applied.body.changes]).toEqual([200, []]);
});

test.each([
  'javascript:alert(1)',
  'data:image/svg+xml,<svg/>',
  ' javascript:alert(1)',
  'ftp://x.test/x.png',
  ' https://x.test/x.png',
  'https:x.test/x.png',
  'x.png',
  '',
])('refuses a badge at %j, of achievements, points systems and levels, and in the document', async (url) => {
  const text = 'must be a URL that begins with https:// or http://';
  const achievement = { key: 'bad-badge', name: 'Bad', trigger: 'api', badge: { url } };
  const system = { key: 'bad-badge', name: 'Bad', badge: { url } };
  const { body } = await laurel.admin.post(PATH, [achievement]);
  expect([body.created, body.issues[0].message]).toEqual([[], `badge.url: ${text}`]);
  expect((await laurel.admin.post('/v1/points', [system])).body.issues[0].message).toBe(`badge.url: ${text}`);
  const [{ id }] = (await laurel.admin.get('/v1/points')).body;
  const level = { key: 'bad-badge', name: 'Bad', points: 1, badge: { url } };
  const levels = await laurel.admin.post(`/v1/points/${id}/levels`, [level]);
  expect(levels.body.issues[0].message).toBe(`badge.url: ${text}`);
  const applied = await laurel.admin.put('/v1/configuration', { ...STUDY_APP, achievements: [achievement] });
  expect([applied.status, JSON.stringify(applied.body)]).toEqual([422, expect.stringContaining(text)]);
  expect((await laurel.admin.patch('/v1/settings', { branding: { logo: { url } } })).status).toBe(400);
});
