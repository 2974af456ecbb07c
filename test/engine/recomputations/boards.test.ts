import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { startLaurel } from '../../laurel.ts';
import { filled, make, plan } from './recompute-laurel.ts';
import { opened } from '../../stack/opened.ts';

const DAY_MS = 86_400_000;
const daily = { start: '2031-01-01', runUnit: 'day', runInterval: 1 } as const;

const configuration = (points: number): Configuration => ({
  attributes: [{ key: 'land', name: 'Land', type: 'user' }],
  metrics: [
    { key: 'orders', name: 'Orders' },
    { key: 'steps', name: 'Steps' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'metric', metricKey: 'orders', metricThreshold: 1, points, status: 'active' }],
    },
  ],
  leaderboards: [
    { key: 'xp', name: 'XP', rankBy: 'points', pointsSystemKey: 'xp', ...daily, status: 'active' },
    { key: 'steps', name: 'S', rankBy: 'metric', metricKey: 'steps', ...daily, status: 'active' },
    {
      key: 'lands',
      name: 'L',
      rankBy: 'metric',
      metricKey: 'steps',
      start: '2031-01-01',
      breakdownAttributes: ['land'],
      status: 'active',
    },
  ],
});

let nowMs = Date.parse('2031-01-01T18:00:00Z');
const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  await at(nowMs);
  await configure(5);
});

const at = async (ms: number): Promise<void> => {
  nowMs = ms;
  expect((await laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() })).status).toBe(200);
};
async function configure(points: number): Promise<void> {
  expect((await laurel.admin.put('/v1/configuration', configuration(points))).status).toBe(200);
  await filled(laurel);
}
async function event(id: string, metric: string, value: number, land?: string): Promise<void> {
  const user = { id, ...(land !== undefined && { attributes: { land } }) };
  expect((await laurel.app.post(`/v1/metrics/${metric}/event`, { user, value })).status).toBe(201);
}
async function places(key: string, query = ''): Promise<[string, number][]> {
  const { rankings } = (await laurel.app.get(`/v1/leaderboards/${key}${query}`)).body;
  return (rankings as { userId: string; value: number }[]).map(({ userId, value }) => [userId, value]);
}
const differences = () => verify({ redis: laurel.redis, pool: laurel.pool, onDifference: () => undefined });

test('points count in the run in which they would have been earned; final runs do not change', async () => {
  await event('ada', 'orders', 2);
  await at(nowMs + DAY_MS);
  await event('ada', 'orders', 3);
  await at(nowMs + DAY_MS - 8 * 3_600_000);
  await event('ada', 'orders', 1);
  await event('bob', 'orders', 1);
  // It is 10:00: the run of yesterday is open, that of the day before is final.
  await configure(7);
  const planned = await plan(laurel, { what: ['points', 'boards'] });
  expect(planned.figures.boards).toEqual([expect.objectContaining({ key: 'xp', gaining: 2, losing: 0, moving: 0 })]);
  expect(planned.samples.gaining[0]).toMatchObject({
    userId: 'ada',
    points: [{ key: 'xp', from: 30, to: 42 }],
    boards: [
      { key: 'xp', run: '2031-01-02', from: 15, to: 21, moves: false },
      { key: 'xp', run: '2031-01-03', from: 5, to: 7, moves: false },
    ],
  });
  const before = [await places('xp'), await places('xp', '?run=2031-01-02'), await places('xp', '?run=2031-01-01')];
  await make(laurel, planned.id, 'apply');
  expect([await places('xp'), await places('xp', '?run=2031-01-02'), await places('xp', '?run=2031-01-01')]).toEqual([
    [
      ['bob', 7],
      ['ada', 7],
    ],
    [['ada', 21]],
    [['ada', 10]],
  ]);
  const history = await laurel.pool.query(
    `SELECT local_date::text AS day, sum(awarded)::int AS points FROM awards WHERE user_id = 'ada' GROUP BY 1 ORDER BY 1`,
  );
  // What the final run would have had is dated in it.
  expect(history.rows).toEqual([
    { day: '2031-01-01', points: 14 },
    { day: '2031-01-02', points: 21 },
    { day: '2031-01-03', points: 7 },
  ]);
  expect((await plan(laurel, { what: ['points', 'boards'], mayRevoke: true })).figures).toMatchObject({ unchanged: 2 });
  expect(await differences()).toBe(0);
  await make(laurel, planned.id, 'revert');
  expect([await places('xp'), await places('xp', '?run=2031-01-02'), await places('xp', '?run=2031-01-01')]).toEqual(
    before,
  );
  expect(await differences()).toBe(0);
});

test('scores become those of history, in the current groups; lower ones with mayRevoke, and those of hidden users unseen', async () => {
  await event('eve', 'steps', 5, 'de');
  await event('kim', 'steps', 5, 'de');
  await event('low', 'steps', 5, 'de');
  await event('hid', 'steps', 5, 'de');
  expect((await laurel.admin.patch('/v1/users/hid', { hidden: true })).status).toBe(200);
  // Attributes alone move nobody.
  expect((await laurel.app.patch('/v1/users/eve', { attributes: { land: 'fr' } })).status).toBe(200);
  await filled(laurel);
  await expect.poll(async () => (await laurel.pool.query(`SELECT FROM events WHERE user_id = 'hid'`)).rowCount).toBe(1);
  // Scores as of users who were left out when a leaderboard was filled, or were given too much.
  await laurel.pool.query(`UPDATE events SET value = 9 WHERE user_id IN ('kim', 'hid') AND value = 5`);
  await laurel.pool.query(`UPDATE events SET value = 2 WHERE user_id = 'low' AND value = 5`);

  const planned = await plan(laurel, { what: ['boards'] });
  expect(planned.figures).toMatchObject({ gaining: 2, losing: 0, achievements: [], points: [] });
  expect(planned.figures.boards).toMatchObject([
    { key: 'steps', gaining: 2, losing: 0, moving: 0 },
    { key: 'lands', gaining: 2, losing: 0, moving: 1 },
  ]);
  await make(laurel, planned.id, 'apply');
  expect(await places('lands', '?userAttributes=land:fr')).toEqual([['eve', 5]]);
  expect(await places('lands', '?userAttributes=land:de')).toEqual([
    ['kim', 9],
    ['low', 5],
  ]);
  expect(await differences()).toBe(0);
  await make(laurel, planned.id, 'revert');
  expect(await places('lands', '?userAttributes=land:fr')).toEqual([]);
  // The order of equal scores depends on the parts of the tenant.
  const asBefore = { eve: 5, kim: 5, low: 5 };
  expect(Object.fromEntries(await places('lands', '?userAttributes=land:de'))).toEqual(asBefore);
  expect(await differences()).toBe(0);

  const strict = await plan(laurel, { what: ['boards'], mayRevoke: true });
  expect(strict.figures).toMatchObject({ gaining: 2, losing: 1 });
  await make(laurel, strict.id, 'apply');
  expect(await places('lands', '?userAttributes=land:de')).toEqual([
    ['kim', 9],
    ['low', 2],
  ]);
  expect((await laurel.admin.patch('/v1/users/hid', { hidden: false })).status).toBe(200);
  expect(await places('lands', '?userAttributes=land:de')).toEqual([
    ['kim', 9],
    ['hid', 9],
    ['low', 2],
  ]);
  expect(await differences()).toBe(0);
});

test('a leaderboard that was filled since the plan already has its scores: nothing is added twice', async () => {
  await event('new', 'steps', 5, 'de');
  await event('new', 'orders', 1);
  await expect.poll(async () => (await laurel.pool.query(`SELECT FROM events WHERE user_id = 'new'`)).rowCount).toBe(2);
  await laurel.pool.query(`UPDATE events SET value = 8 WHERE user_id = 'new' AND value = 5`);
  await configure(11);
  const planned = await plan(laurel, { what: ['points', 'boards'] });
  const ofNew = planned.samples.gaining.find(({ userId }) => userId === 'new');
  expect(ofNew?.boards).toMatchObject([
    { key: 'xp', from: 7, to: 11 },
    { key: 'steps', from: 5, to: 8 },
    { key: 'lands', from: 5, to: 8 },
  ]);
  const boards = (await laurel.admin.get('/v1/leaderboards')).body as { id: string; key: string }[];
  for (const status of ['inactive', 'active'])
    for (const { id } of boards)
      expect((await laurel.admin.patch('/v1/leaderboards', [{ id, status }])).status).toBe(200);
  await filled(laurel);
  await make(laurel, planned.id, 'apply');
  const scoreOf = async (key: string) => (await laurel.app.get(`/v1/users/new/leaderboards/${key}`)).body.value;
  expect([await scoreOf('xp'), await scoreOf('steps'), await scoreOf('lands')]).toEqual([11, 8, 8]);
  expect(await differences()).toBe(0);
  expect((await plan(laurel, { what: ['boards'], mayRevoke: true })).figures).toMatchObject({ gaining: 0, losing: 0 });
  await make(laurel, planned.id, 'revert');
  expect([await scoreOf('xp'), await scoreOf('steps'), await scoreOf('lands')]).toEqual([7, 8, 8]);
});
