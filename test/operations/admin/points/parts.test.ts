import { beforeAll, describe, expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const clock = new FixedClock(Date.UTC(2026, 5, 15, 12));
let xp: string;
let other: string;
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, clock }));
beforeAll(async () => {
  xp = (await laurel.admin.get('/v1/points')).body[0].id;
  other = (await laurel.admin.post('/v1/points', [{ key: 'other', name: 'Other' }])).body.created[0].id;
});

const PARTS = {
  levels: { key: 'a', name: 'A', points: 1 },
  boosts: { name: 'A', start: '2026-01-01', multiplier: 2 },
  triggers: { type: 'user_creation', points: 1 },
};

describe.each(Object.entries(PARTS))('%s', (part, item) => {
  const path = (system: string, rest = ''): string => `/v1/points/${system}/${part}${rest}`;

  test('of an unknown points system: 404, even if every item is bad', async () => {
    for (const system of [NOBODY, 'no-uuid']) {
      expect((await laurel.admin.get(path(system))).status).toBe(404);
      expect((await laurel.admin.get(path(system, `/${NOBODY}`))).status).toBe(404);
      expect((await laurel.admin.post(path(system), [item])).status).toBe(404);
      expect((await laurel.admin.post(path(system), [7])).status).toBe(404);
      expect((await laurel.admin.patch(path(system), [{ id: NOBODY }])).status).toBe(404);
      expect((await laurel.admin.patch(path(system), [7])).status).toBe(404);
      expect((await laurel.admin.delete(path(system, `?ids=${NOBODY}`))).status).toBe(404);
    }
    expect((await laurel.admin.post(path(xp), [])).status).toBe(422);
    expect((await laurel.admin.patch(path(xp), {})).status).toBe(422);
    expect((await laurel.admin.get(path(xp, '?limit=101'))).status).toBe(422);
  });

  test('are those of one points system only', async () => {
    const made = (await laurel.admin.post(path(other.toUpperCase()), [item])).body.created[0];
    expect((await laurel.admin.get(path(other, `/${made.id}`))).body).toEqual(made);
    expect((await laurel.admin.get(path(other, '?limit=100'))).body).toContainEqual(made);
    expect((await laurel.admin.get(path(xp, '?limit=100'))).body).not.toContainEqual(made);
    expect((await laurel.admin.get(path(xp, `/${made.id}`))).status).toBe(404);
    expect((await laurel.admin.patch(path(xp), [{ id: made.id }])).body).toMatchObject({
      updated: [],
      issues: [{ id: made.id }],
    });
    expect((await laurel.admin.delete(path(xp, `?ids=${made.id}`))).body).toMatchObject({
      deleted: [],
      issues: [{ id: made.id }],
    });
    expect((await laurel.admin.delete(path(other, `?ids=${made.id},${NOBODY}`))).body).toMatchObject({
      deleted: [{ id: made.id }],
      issues: [{ id: NOBODY }],
    });
    expect((await laurel.admin.get(path(other, `/${made.id}`))).status).toBe(404);
  });
});

describe('levels', () => {
  test('admin_points_levels_create and _update', async () => {
    const path = `/v1/points/${xp}/levels`;
    const { body } = await laurel.admin.post(path, [
      { key: 'expert', name: 'Expert', points: 100, badge: { url: 'https://x.test/x.png' }, description: 'Hard' },
      { key: 'novice', name: 'Novice again', points: 11 },
      { key: 'tenth', name: 'Tenth', points: 10 },
      { key: 'below', name: 'Below', points: -1 },
      { key: 'half', name: 'Half', points: 1.5 },
    ]);
    const [expert] = body.created;
    expect(body.created).toHaveLength(1);
    expect(body.issues.map(({ message }: { message: string }) => message)).toEqual([
      `key: another level has the key 'novice'`,
      'points: another level begins at 10 points',
      'points must be at least 0',
      'points must be a whole number',
    ]);
    const updated = await laurel.admin.patch(path, [{ id: expert.id, badge: null, points: 200, key: 'x' }]);
    expect(updated.body).toEqual({ updated: [{ ...expert, badge: null, points: 200 }], issues: [] });
    expect((await laurel.app.get('/v1/points/xp/levels')).body.map(({ key }: { key: string }) => key)).toContain(
      'expert',
    );
  });
});

test.each([
  ['levels', 200],
  ['triggers', 200],
  ['boosts', 422],
])('as many IDs as the contract allows: %s', async (part, status) => {
  const ids = Array.from({ length: 101 }, (_, index) => NOBODY.slice(0, -3) + String(index).padStart(3, '0'));
  const { body, ...answer } = await laurel.admin.delete(`/v1/points/${xp}/${part}?ids=${ids.join()}`);
  expect(answer.status).toBe(status);
  expect(body.issues?.length).toBe(status === 200 ? 101 : undefined);
});

describe('boosts', () => {
  const path = () => `/v1/points/${xp}/boosts`;

  test('admin_points_boosts_create: bounds, defaults, and the status of the day', async () => {
    const boost = { name: 'Boost', start: '2026-06-15', multiplier: 1.5 };
    const { status, body } = await laurel.admin.post(path(), [
      boost,
      { ...boost, userId: 'ada', start: '2026-06-16', end: '2026-06-16', rounding: 'up' },
      { ...boost, start: '2026-01-01', end: '2026-06-14', userAttributes: null, userId: null },
      { ...boost, multiplier: 0 },
      { ...boost, multiplier: 100 },
      { ...boost, multiplier: 99.99 },
      { ...boost, end: '2026-06-14' },
      { ...boost, start: '2026-02-30' },
      { ...boost, name: 'x'.repeat(256) },
      { ...boost, userAttributes: [{ attributeId: NOBODY, attributeValue: 'x' }] },
      { ...boost, rounding: 'sideways', userId: 'ada' },
    ]);
    expect(status).toBe(201);
    expect(body.created).toMatchObject([
      { ...boost, end: null, rounding: 'down', userId: null, userAttributes: [], status: 'active' },
      { userId: 'ada', status: 'scheduled', rounding: 'up' },
      { status: 'finished' },
      { multiplier: 99.99 },
    ]);
    expect(body.issues.map(({ index, message }: { index: number; message: string }) => [index, message])).toEqual([
      [3, 'multiplier must be greater than 0'],
      [4, 'multiplier must be less than 100'],
      [6, 'end: must not be before start'],
      [7, 'start must be a date (YYYY-MM-DD)'],
      [8, 'name must have at most 200 characters'],
      [9, `userAttributes[0].attributeId: unknown user attribute '${NOBODY}'`],
      [10, 'rounding must be one of: down, up, nearest'],
    ]);
    expect(body.issues.at(-1).userId).toBe('ada');
  });

  test('admin_points_boosts_update and _delete: issues name the boost', async () => {
    const item = { name: 'Short', start: '2026-06-01', end: '2026-06-30', multiplier: 2 };
    const [made] = (await laurel.admin.post(path(), [item])).body.created;
    const { body } = await laurel.admin.patch(path(), [
      { id: made.id, end: null, multiplier: 3, userId: 'bo' },
      { id: made.id, end: '2026-05-01' },
      { id: NOBODY },
    ]);
    expect(body).toEqual({
      updated: [{ ...made, end: null, multiplier: 3 }],
      issues: [
        { id: made.id, boostId: made.id, ...says('error', 'end: must not be before start') },
        { id: NOBODY, boostId: NOBODY, ...says('error', 'There is no boost with this ID') },
      ],
    });
    expect((await laurel.admin.delete(`${path()}?ids=${made.id},no-uuid`)).body).toEqual({
      deleted: [{ id: made.id }],
      issues: [{ id: 'no-uuid', boostId: 'no-uuid', ...says('error', 'There is no boost with this ID') }],
    });
  });
});

describe('triggers', () => {
  const path = () => `/v1/points/${xp}/triggers`;
  const make = async (item: object) => (await laurel.admin.post(path(), [item])).body.created[0];

  test('admin_points_triggers_create: each type with its fields', async () => {
    const flips = (await laurel.admin.get('/v1/metrics')).body[0].id;
    const achievementId = (await laurel.admin.get('/v1/achievements')).body[0].id;
    const deck = (await laurel.admin.get('/v1/attributes')).body.find((a: { type: string }) => a.type === 'event').id;
    const conditions = [{ attributeId: deck, attributeValue: 'a' }];
    const base = { status: 'inactive', userAttributes: [], blockIfOutOfPoints: false };
    const metric = { type: 'metric', points: -1, metricId: flips, metricThreshold: 2, eventAttributes: conditions };
    const good = [
      { ...metric, blockIfOutOfPoints: true },
      { type: 'achievement', points: 2, achievementId },
      { type: 'streak', points: 3, streakLength: 7, status: 'active' },
      { type: 'time', points: 4, timeUnit: 'hours', timeInterval: 6 },
      { type: 'time', points: 4, timeUnit: 'days', timeInterval: 1 },
      { type: 'user_creation', points: 5, userAttributes: null },
    ];
    const bad: [object, string][] = [
      [{ type: 'metric', points: 1, metricId: flips }, `metricThreshold: required for type 'metric'`],
      [{ type: 'streak', points: 1, streakLength: 0 }, 'streakLength must be at least 1'],
      [
        { type: 'time', points: 1, timeUnit: 'hour', timeInterval: 1 },
        'timeUnit must be one of: hours, days (did you mean hours?)',
      ],
      [{ type: 'user_creation', points: 1, metricId: flips }, `metricId: only for type 'metric'`],
      [{ type: 'achievement', points: 1, achievementId: flips }, `achievementId: unknown achievement '${flips}'`],
      [{ ...metric, userAttributes: conditions }, `userAttributes[0].attributeId: 'deck' is an event attribute`],
      [{ type: 'user_creation', points: 1.5 }, 'points must be a whole number'],
    ];
    const { body } = await laurel.admin.post(path(), [...good, ...bad.map(([item]) => item)]);
    expect(body.created).toEqual(
      good.map((item) => ({
        ...base,
        ...item,
        id: expect.any(String),
        userAttributes: [],
      })),
    );
    expect(body.issues.map(({ message }: { message: string }) => message)).toEqual(bad.map(([, message]) => message));
  });

  test('admin_points_triggers_update: a type can change only while inactive, and its fields change with it', async () => {
    const made = await make({ type: 'time', points: 1, timeUnit: 'days', timeInterval: 2, status: 'active' });
    const change = { id: made.id, type: 'streak', streakLength: 3 };
    const refused = await laurel.admin.patch(path(), [{ ...change, points: 9 }]);
    expect(refused.body.updated).toEqual([]);
    expect(refused.body.issues).toEqual([
      {
        id: made.id,
        ...says('error', `type: can be changed only while the trigger is inactive: set status 'inactive' first`),
      },
    ]);
    expect((await laurel.admin.get(`${path()}/${made.id}`)).body).toEqual(made);
    expect((await laurel.admin.patch(path(), [{ id: made.id, points: 9, type: 'time' }])).body.updated).toEqual([
      { ...made, points: 9 },
    ]);
    await laurel.admin.patch(path(), [{ id: made.id, status: 'inactive' }]);
    const { body } = await laurel.admin.patch(path(), [change]);
    expect(body.updated).toEqual([
      {
        id: made.id,
        type: 'streak',
        points: 9,
        status: 'inactive',
        userAttributes: [],
        streakLength: 3,
        blockIfOutOfPoints: false,
      },
    ]);
    const missing = await laurel.admin.patch(path(), [{ id: made.id, type: 'time', timeUnit: 'days' }]);
    expect(missing.body.issues[0].message).toBe(`timeInterval: required for type 'time'`);
  });

  test('an update takes effect with the next event', async () => {
    const ofOther = `/v1/points/${other}/triggers`;
    const [made] = (await laurel.admin.post(ofOther, [{ type: 'user_creation', points: 40 }])).body.created;
    const first = async (id: string) =>
      (await laurel.app.post('/v1/metrics/minutes/event', { user: { id }, value: 1 })).body.points.other?.added;
    expect(await first('one')).toBeUndefined();
    await laurel.admin.patch(ofOther, [{ id: made.id, status: 'active' }]);
    expect(await first('two')).toBe(40);
    await laurel.admin.delete(`${ofOther}?ids=${made.id}`);
    expect(await first('three')).toBeUndefined();
  });
});

test('exporting and applying the configuration after these creations changes nothing', async () => {
  const { body } = await laurel.admin.get('/v1/configuration');
  const applied = await laurel.admin.put('/v1/configuration', body);
  expect([applied.status, applied.body.changes]).toEqual([200, []]);
});

test('a trigger for levels keeps the level and the points system that it names', async () => {
  const [watched] = (
    await laurel.admin.post('/v1/points', [
      { key: 'watched', name: 'Watched', levels: [{ key: 'top', name: 'Top', points: 5 }] },
    ])
  ).body.created;
  const [level] = (await laurel.admin.get(`/v1/points/${watched.id}/levels`)).body;
  const sent = { type: 'achievement', points: 3, pointsSystemId: watched.id, levelKey: 'top', status: 'active' };
  const [trigger] = (await laurel.admin.post(`/v1/points/${other}/triggers`, [sent])).body.created;
  expect(trigger).toMatchObject(sent);
  const refusals = [
    await laurel.admin.delete(`/v1/points/${watched.id}/levels?ids=${level.id}`),
    await laurel.admin.delete(`/v1/points?ids=${watched.id}`),
  ];
  const message = `In use by achievement trigger ${trigger.id} of points system 'other': change or delete them first`;
  for (const { body } of refusals) expect(body).toMatchObject({ deleted: [], issues: [says('error', message)] });
  await laurel.admin.delete(`/v1/points/${other}/triggers?ids=${trigger.id}`);
  expect((await laurel.admin.delete(`/v1/points?ids=${watched.id}`)).body.deleted).toHaveLength(1);
});
