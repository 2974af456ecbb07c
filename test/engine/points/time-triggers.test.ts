import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';

type System = NonNullable<Configuration['pointsSystems']>[number];
type Trigger = NonNullable<System['triggers']>[number];

const SEEN = Date.UTC(2030, 2, 1, 10, 20, 30, 456);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let laurel: TestLaurel;
beforeEach(async () => {
  laurel = await startLaurel({ testClock: true, workers: true });
  await to(SEEN);
});
afterEach(() => laurel.close());

const iso = (ms: number): string => new Date(ms).toISOString();
async function to(ms: number): Promise<void> {
  const answer = await laurel.admin.put('/v1/clock', { now: iso(ms) });
  expect(answer).toMatchObject({ status: 200, body: { now: iso(ms) } });
}
async function configure(triggers: Trigger[], system: Partial<System> = {}, more: Configuration = {}): Promise<void> {
  const configuration: Configuration = {
    attributes: [{ key: 'plan', name: 'Plan', type: 'user' }],
    metrics: [{ key: 'flips', name: 'Flips' }],
    pointsSystems: [{ key: 'xp', name: 'XP', triggers, ...system }],
    ...more,
  };
  expect((await laurel.admin.put('/v1/configuration', configuration)).status).toBe(200);
}
const hourly = (more: Partial<Trigger> = {}): Trigger => ({
  type: 'time',
  timeUnit: 'hours',
  timeInterval: 1,
  points: 10,
  status: 'active',
  ...more,
});
const user = (id: string, more: object = {}) => laurel.app.put(`/v1/users/${id}`, more);
const total = async (id = 'ada'): Promise<number> => (await laurel.app.get(`/v1/users/${id}/points/xp`)).body.total;

/** Awards of a user, oldest first: `[time, awarded, total]`. */
async function awards(id = 'ada'): Promise<[string, number, number][]> {
  const { body } = await laurel.app.get(`/v1/users/${id}/points/xp?awards=100`);
  return body.awards
    .map(({ date, awarded, total: after }: { date: string; awarded: number; total: number }) => [date, awarded, after])
    .toReversed();
}
const paid = (times: number[], points = 10): [string, number, number][] =>
  times.map((ms, n) => [iso(ms), points, points * (n + 1)]);

describe.each([
  ['hours', 1, HOUR],
  ['hours', 5, 5 * HOUR],
  ['days', 1, DAY],
  ['days', 3, 3 * DAY],
] as const)('every %s × %i', (timeUnit, timeInterval, period) => {
  test('is paid at exact multiples since the first sight, in one go as step by step', async () => {
    await configure([hourly({ timeUnit, timeInterval })]);
    await user('ada', { tz: 'Europe/Berlin' });
    await to(SEEN + period - 1);
    expect(await total()).toBe(0);
    await to(SEEN + period);
    expect(await total()).toBe(10);
    await to(SEEN + period * 2 - 1);
    await user('bob');
    await to(SEEN + period * 2);
    // Nine more: no midnight, nor a change to summer time (31 March), moves them.
    await to(SEEN + period * 11 + period / 2);
    expect(await awards()).toEqual(paid(Array.from({ length: 11 }, (_, n) => SEEN + period * (n + 1))));
    expect(await awards('bob')).toEqual(paid(Array.from({ length: 9 }, (_, n) => SEEN + period * (n + 3) - 1)));
  });
});

test('40 days in one call: every hour is paid once, and frontends and restarts agree', async () => {
  await configure([hourly({ points: 1 }), hourly({ timeUnit: 'days', timeInterval: 1, points: 100 })]);
  await user('ada');
  await to(SEEN + 40 * DAY);
  expect(await total()).toBe(40 * 24 + 40 * 100);
  const second = await laurel.another();
  expect((await second.app.get('/v1/users/ada/points/xp')).body.total).toBe(4960);
  const { rows } = await laurel.pool.query(
    'SELECT count(*)::int AS n, count(DISTINCT (trigger_no, at))::int AS times FROM awards',
  );
  expect(rows).toEqual([{ n: 1000, times: 1000 }]);
  // The same time again, and nothing more.
  await to(SEEN + 40 * DAY);
  expect(await total()).toBe(4960);
});

test('pays no period from before the activation, after the deactivation, or before the next activation', async () => {
  await configure([hourly({ status: 'inactive', timeInterval: 2 })]);
  await user('ada');
  await to(SEEN + 5 * HOUR);
  await configure([hourly({ timeInterval: 2 })]);
  expect(await total()).toBe(0);
  await to(SEEN + 8 * HOUR + 1);
  expect(await awards()).toEqual(paid([SEEN + 6 * HOUR, SEEN + 8 * HOUR]));
  await configure([hourly({ status: 'inactive', timeInterval: 2 })]);
  await to(SEEN + 13 * HOUR);
  await configure([hourly({ timeInterval: 2 })]);
  await to(SEEN + 15 * HOUR);
  expect(await awards()).toEqual(paid([SEEN + 6 * HOUR, SEEN + 8 * HOUR, SEEN + 14 * HOUR]));
});

test('a period that ends in the moment of the activation is from before it', async () => {
  await configure([]);
  await user('ada');
  await to(SEEN + HOUR);
  await configure([hourly()]);
  await to(SEEN + HOUR);
  expect(await total()).toBe(0);
  await to(SEEN + 2 * HOUR);
  expect(await awards()).toEqual(paid([SEEN + 2 * HOUR]));
});

test('evaluates conditions at the time; cap, floor, level and boosts apply as for other awards', async () => {
  const doubled = { name: 'Double', start: '2030-03-02', end: '2030-03-02', multiplier: 2 };
  await configure(
    [
      hourly({ timeUnit: 'days', userAttributes: [{ key: 'plan', value: 'pro' }], points: 30 }),
      hourly({ timeUnit: 'days', timeInterval: 4, points: -500 }),
    ],
    { maxPoints: 100, boosts: [doubled], levels: [{ key: 'one', name: 'One', points: 60 }] },
  );
  await user('ada', { attributes: { plan: 'pro' } });
  await user('bob', { attributes: { plan: 'free' } });
  // In Kiritimati (UTC+14) the second of March is over at 10:00 UTC.
  await user('kai', { attributes: { plan: 'pro' }, tz: 'Pacific/Kiritimati' });
  await to(SEEN + DAY);
  expect([await total('ada'), await total('bob'), await total('kai')]).toEqual([60, 0, 30]);
  expect((await laurel.app.get('/v1/users/ada/points/xp')).body.level).toMatchObject({ key: 'one' });
  await user('bob', { attributes: { plan: 'pro' } });
  await to(SEEN + 3 * DAY);
  expect([await total('ada'), await total('bob')]).toEqual([100, 60]);
  await to(SEEN + 4 * DAY);
  expect((await awards('ada')).map(([, awarded, after]) => [awarded, after])).toEqual([
    [60, 60],
    [30, 90],
    [10, 100],
    [-100, 0],
  ]);
  expect((await awards('bob')).at(-1)).toEqual([iso(SEEN + 4 * DAY), -90, 0]);
});

test('points leaderboards follow, by the local day of the end of the period', async () => {
  const board = {
    name: 'Day',
    rankBy: 'points',
    pointsSystemKey: 'xp',
    start: '2030-03-01',
    status: 'active',
  } as const;
  await configure(
    [hourly({ timeInterval: 7 })],
    {},
    {
      leaderboards: [{ ...board, key: 'day', runUnit: 'day', runInterval: 1 }],
    },
  );
  await user('ada');
  await user('kai', { tz: 'Pacific/Kiritimati' });
  // 17:20 of 1 March in UTC, 7:20 of 2 March in Kiritimati; then 00:20 of 2 March, and 14:20.
  await to(SEEN + 14 * HOUR);
  const value = async (id: string, run: string) => {
    const { status, body } = await laurel.app.get(`/v1/users/${id}/leaderboards/day?run=${run}`);
    return status === 200 ? body.value : status;
  };
  expect([await value('ada', '2030-03-01'), await value('ada', '2030-03-02')]).toEqual([10, 10]);
  expect(await value('kai', '2030-03-02')).toBe(20);
});

test('the Admin API and GET /points/{key} show it', async () => {
  await configure([hourly({ timeUnit: 'days', timeInterval: 3 })]);
  const { body } = await laurel.app.get('/v1/points/xp');
  expect(body.triggers).toMatchObject([{ type: 'time', timeUnit: 'day', timeInterval: 3, points: 10 }]);
  await user('ada');
  await to(SEEN + 3 * DAY);
  const { body: points } = await laurel.app.get('/v1/users/ada/points/xp');
  expect(points.awards[0]).toMatchObject({ awarded: 10, trigger: { type: 'time', timeUnit: 'day', timeInterval: 3 } });
});

test('back in real time new users get theirs, and nobody is paid twice', async () => {
  await configure([hourly()]);
  await user('ada');
  await to(SEEN + 3 * HOUR);
  expect(await total()).toBe(30);
  await laurel.admin.delete('/v1/clock');
  await to(SEEN + HOUR);
  await user('bob');
  await to(SEEN + 4 * HOUR);
  expect([await total('ada'), await total('bob')]).toEqual([40, 30]);
});

test('thousands who were first seen at the same time, in a batch that was just accepted', async () => {
  await configure([hourly()]);
  const sent = Array.from({ length: 1000 }, (_, n) => ({ key: 'flips', user: { id: `u${n}` }, value: 1 }));
  const accepted = await laurel.admin.post('/v1/metrics/events', sent);
  expect(accepted.status).toBe(202);
  await to(SEEN + 3 * HOUR);
  const { rows } = await laurel.pool.query(
    'SELECT count(*)::int AS n, count(DISTINCT user_id)::int AS users, count(DISTINCT (user_id, at))::int AS times FROM awards',
  );
  expect(rows).toEqual([{ n: 3000, users: 1000, times: 3000 }]);
});
