import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const PATH = '/v1/points';
let flips: string;
let plan: string;
const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
beforeAll(async () => {
  flips = (await laurel.admin.get('/v1/metrics')).body[0].id;
  plan = (await laurel.admin.get('/v1/attributes')).body[0].id;
});

test('admin_points_systems_create: defaults, and bounds', async () => {
  const { status, body } = await laurel.admin.post(PATH, [
    { key: 'coins', name: 'Coins' },
    { key: 'gems', name: 'Gems', description: 'Shiny', badge: { url: 'https://x.test/g.png' }, maxPoints: 10 },
    { key: 'coins', name: 'Coins again' },
    { key: 'less', name: 'Less', maxPoints: 0 },
    { key: 'unbounded', name: 'Unbounded', maxPoints: null, badge: null },
  ]);
  expect(status).toBe(201);
  const plain = { id: expect.any(String), description: '', status: 'active', badge: null, maxPoints: null };
  expect(body.created).toEqual([
    { ...plain, key: 'coins', name: 'Coins' },
    {
      ...plain,
      key: 'gems',
      name: 'Gems',
      description: 'Shiny',
      badge: { url: 'https://x.test/g.png' },
      maxPoints: 10,
    },
    { ...plain, key: 'unbounded', name: 'Unbounded' },
  ]);
  expect(body.issues).toEqual([
    { index: 2, ...says('error', `key: another points system has the key 'coins'`) },
    { index: 3, ...says('error', 'maxPoints must be at least 1') },
  ]);
});

test('creates a system with its levels, boosts and triggers, or not at all', async () => {
  const parts = {
    levels: [
      { key: 'low', name: 'Low', points: 1 },
      { key: 'high', name: 'High', points: 5 },
    ],
    boosts: [
      {
        name: 'Pro',
        start: '2026-01-01',
        multiplier: 2,
        userAttributes: [{ attributeId: plan.toUpperCase(), attributeValue: 'pro' }],
      },
    ],
    triggers: [{ type: 'metric', metricId: flips, metricThreshold: 1, points: 3, status: 'active' }],
  };
  const { status, body } = await laurel.admin.post(PATH, [
    { key: 'whole', name: 'Whole', ...parts },
    {
      key: 'half',
      name: 'Half',
      ...parts,
      levels: [
        { key: 'a', name: 'A', points: 1 },
        { key: 'b', name: 'B' },
      ],
    },
    {
      key: 'half',
      name: 'Half',
      levels: [...parts.levels, { key: 'low', name: 'Lowest', points: 0 }],
      triggers: [
        { ...parts.triggers[0], metricId: NOBODY },
        { type: 'streak', points: 1 },
      ],
    },
    { key: 'half', name: 'A good one with that key', levels: [] },
  ]);
  expect(status).toBe(201);
  const [whole, half] = body.created;
  expect(whole).toMatchObject({
    key: 'whole',
    levels: [{ key: 'low', description: '', badge: null }, { key: 'high' }],
    boosts: [{ name: 'Pro', userId: null, end: null, rounding: 'down', status: 'active' }],
    triggers: [{ type: 'metric', metricId: flips, metricThreshold: 1, points: 3, status: 'active' }],
  });
  expect(whole.boosts[0].userAttributes).toEqual([{ attributeId: plan, attributeValue: 'pro' }]);
  expect(half).toMatchObject({ name: 'A good one with that key', levels: [] });
  expect(half).not.toHaveProperty('triggers');
  expect(body.issues).toEqual([
    { index: 1, ...says('error', 'levels[1].points is required') },
    {
      index: 2,
      ...says(
        'error',
        expect.stringMatching(
          /levels\[2\]\.key: another level has the key 'low'.*triggers\[0\]\.metricId: unknown metric '.*'.*triggers\[1\]\.streakLength: required for type 'streak'/,
        ),
      ),
    },
  ]);
  for (const part of ['levels', 'boosts', 'triggers']) {
    expect((await laurel.admin.get(`${PATH}/${whole.id}/${part}`)).body).toEqual(whole[part]);
    expect((await laurel.admin.get(`${PATH}/${half.id}/${part}`)).body).toEqual([]);
  }
  const event = await laurel.app.post('/v1/metrics/flips/event', {
    user: { id: 'pro', attributes: { plan: 'pro' } },
    value: 1,
  });
  expect(event.body.points.whole).toMatchObject({ added: 6, total: 6 });
});

test('admin_points_systems_update and _get: sent fields change, null clears', async () => {
  const item = { key: 'stars', name: 'Stars', badge: { url: 'https://x.test/x.png' }, maxPoints: 5 };
  const [made] = (await laurel.admin.post(PATH, [item])).body.created;
  const { body } = await laurel.admin.patch(PATH, [
    { id: made.id, description: 'Many', badge: null, maxPoints: null, key: 'other' },
    { id: NOBODY },
    { id: made.id, maxPoints: 0 },
  ]);
  expect(body.updated).toEqual([{ ...made, description: 'Many', badge: null, maxPoints: null }]);
  expect(body.issues).toEqual([
    { id: NOBODY, ...says('error', 'There is no points system with this ID') },
    { id: made.id, ...says('error', 'maxPoints must be at least 1') },
  ]);
  expect((await laurel.admin.get(`${PATH}/${made.id}`)).body).toEqual(body.updated[0]);
});

test('admin_points_systems_delete: keeps one that a leaderboard ranks; otherwise deletes it with its parts', async () => {
  const systems = (await laurel.admin.get(`${PATH}?limit=100`)).body as { id: string; key: string }[];
  const id = (key: string): string => systems.find((system) => system.key === key)!.id;
  const { body } = await laurel.admin.delete(`${PATH}?ids=${id('xp')}&ids=${id('whole')}`);
  expect(body).toEqual({
    deleted: [{ id: id('whole') }],
    issues: [{ id: id('xp'), ...says('error', `In use by leaderboard 'weekly': change or delete them first`) }],
  });
  for (const part of ['levels', 'boosts', 'triggers', `levels/${NOBODY}`]) {
    expect((await laurel.admin.get(`${PATH}/${id('whole')}/${part}`)).status).toBe(404);
  }
  expect((await laurel.app.get('/v1/points/whole')).status).toBe(404);
});
