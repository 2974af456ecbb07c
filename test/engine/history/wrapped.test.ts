import { Redis } from 'ioredis';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { compileCatalog } from '../../../src/catalog/compiled-catalog.ts';
import { FixedClock } from '../../../src/clock.ts';
import type { WrappedResponse } from '../../../src/domain/history.ts';
import { ReadLimits } from '../../../src/engine/history/read-limits.ts';
import { createWrappedReads, type WrappedReads } from '../../../src/engine/history/wrapped-reads.ts';
import { createKeptRuns } from '../../../src/engine/leaderboards/kept-runs.ts';
import { UserReads } from '../../../src/engine/users/user-reads.ts';
import { checkAnswer } from '../../contract/contract.ts';
import { testDatabase } from '../../postgres/database.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { storeUser, type StoredEvent } from './stored-history.ts';
import { opened } from '../../stack/opened.ts';

let wrapped: WrappedReads;
const clock = new FixedClock(Date.UTC(2026, 10, 18, 12));
const catalog = new CatalogBuilder();
const steps = catalog.metric('steps');
const pages = catalog.metric('pages');
const xp = catalog.system('xp');
// A key like any other.
const PLACE = '__proto__';
catalog.attribute(PLACE, 'event');
const walker = catalog.achievement('metric', { key: 'walker', metricId: steps.id, metricValue: 1 });
const hidden = catalog.achievement('api', { key: 'hidden', status: 'inactive' });
const perpetual = catalog.leaderboard('ever', 'metric', { metricId: steps.id, start: '2026-01-01' });
const monthly = catalog.leaderboard('monthly', 'metric', {
  metricId: steps.id,
  start: '2026-01-01',
  runUnit: 'month',
  runInterval: 1,
});
const one = catalog.leaderboard('only-one', 'metric', { metricId: steps.id, start: '2026-01-01', maxParticipants: 1 });

const database = opened(() => testDatabase());
const redis = opened(() => new Redis(database.stack.redisUrl), 'disconnect');
beforeAll(async () => {
  const users = new UserReads(redis);
  wrapped = createWrappedReads({
    limits: new ReadLimits(),
    pool: database.pool,
    redis,
    past: createKeptRuns(database.pool),
    clock,
    users,
    controlShare: () => 0,
  });
});

const store = (user: Parameters<typeof storeUser>[1]): Promise<void> => storeUser({ pool: database.pool, redis }, user);

async function read(userId: string, year?: number, tenantNo = 0): Promise<WrappedResponse['activity']> {
  const body = await wrapped.read(compileCatalog({ ...catalog.catalog, tenantNo }), userId, year);
  checkAnswer({ surface: 'application', method: 'get', path: '/v1/users/{id}/wrapped', status: 200, body });
  return body.activity;
}

const walk = (date: string, value: number, where?: string): StoredEvent => ({
  metricNo: steps.no,
  date,
  micros: value * 1_000_000,
  ...(where !== undefined && { attributes: { [PLACE]: where } }),
});
const readPages = (date: string, value: number): StoredEvent => ({
  metricNo: pages.no,
  date,
  micros: value * 1_000_000,
});

const EMPTY = { metrics: {}, points: {}, achievements: [], leaderboards: {} };

test('a year without activity: zeros, the first day, week and month, empty maps', async () => {
  await store({
    id: 'idle',
    events: [walk('2025-12-31', 5)],
    awards: [{ systemNo: xp.no, date: '2025-12-31', awarded: 3 }],
  });
  expect(await read('idle', 2026)).toEqual({
    daysActive: 0,
    weeksActive: 0,
    monthsActive: 0,
    mostActiveDay: { ...EMPTY, date: '2026-01-01' },
    mostActiveWeek: { ...EMPTY, start: '2025-12-28', end: '2026-01-03' },
    mostActiveMonth: { ...EMPTY, month: 0 },
    entireYear: {
      ...EMPTY,
      longestStreak: { length: 0, frequency: 'daily', periodStart: null, periodEnd: null, started: null },
    },
  });
  expect((await read('idle', 1)).mostActiveDay.date).toBe('0001-01-01');
});

test('weeks begin on the day of the streak settings', async () => {
  catalog.streaks({ weekStart: 'monday' });
  const { mostActiveWeek } = await read('idle', 2026).finally(() => catalog.streaks({ weekStart: 'sunday' }));
  expect(mostActiveWeek).toMatchObject({ start: '2025-12-29', end: '2026-01-04' });
});

test('most active periods have the most events, the earliest of several; days outside the year do not count', async () => {
  await store({
    id: 'busy',
    events: [
      ...Array.from({ length: 9 }, () => walk('2025-12-31', 1)),
      walk('2026-01-02', 1),
      walk('2026-03-10', 1),
      readPages('2026-03-10', 100),
      walk('2026-03-12', 1),
      walk('2026-06-10', 5),
      walk('2026-06-10', 5),
      walk('2026-06-11', 5),
      walk('2027-01-01', 1),
    ],
  });
  const activity = await read('busy', 2026);
  expect(activity).toMatchObject({ daysActive: 5, weeksActive: 3, monthsActive: 3 });
  expect(activity.mostActiveDay.date).toBe('2026-03-10');
  expect(activity.mostActiveWeek).toMatchObject({ start: '2026-03-08', end: '2026-03-14' });
  expect(activity.mostActiveMonth.month).toBe(2);
  expect(Object.keys(activity.mostActiveDay.metrics)).toEqual(['steps', 'pages']);
});

test('compares a change with the previous period of the same kind', async () => {
  await store({
    id: 'changing',
    events: [
      walk('2025-05-01', 8),
      walk('2026-02-27', 2),
      walk('2026-03-01', 1.5),
      walk('2026-03-02', 0.5),
      readPages('2026-03-02', 1),
    ],
    awards: [
      { systemNo: xp.no, date: '2026-02-28', awarded: 30 },
      { systemNo: xp.no, date: '2026-03-02', awarded: 40 },
    ],
  });
  const activity = await read('changing', 2026);
  expect(activity.mostActiveDay.metrics['steps']).toMatchObject({
    currentTotal: 12,
    changeThisPeriod: 0.5,
    percentChange: -66.67,
  });
  expect(activity.mostActiveWeek.metrics['steps']).toMatchObject({ changeThisPeriod: 2, percentChange: 0 });
  expect(activity.mostActiveMonth.metrics['steps']).toMatchObject({ changeThisPeriod: 2, percentChange: 0 });
  expect(activity.entireYear.metrics['steps']).toMatchObject({
    currentTotal: 12,
    changeThisPeriod: 4,
    percentChange: -50,
  });
  expect(activity.entireYear.metrics['pages']).toMatchObject({ changeThisPeriod: 1, percentChange: 100 });
  expect(activity.mostActiveMonth.points).toMatchObject({
    xp: { name: 'xp', currentTotal: 70, changeThisPeriod: 40, percentChange: 33.33 },
  });
  expect(activity.mostActiveDay.points['xp']).not.toHaveProperty('percentileThisPeriod');
});

test('by event attribute: each value of the period, with its all-time total', async () => {
  await store({
    id: 'placed',
    events: [
      walk('2025-07-01', 4, 'park'),
      walk('2026-07-01', 1, 'park'),
      walk('2026-07-01', 2, 'road'),
      walk('2026-09-09', 3, 'park'),
      walk('2026-09-10', 1),
    ],
  });
  const { mostActiveDay, entireYear } = await read('placed', 2026);
  expect(mostActiveDay.metrics['steps']?.byAttribute[PLACE]).toEqual({
    park: { name: steps.name, units: null, currentTotal: 8, changeThisPeriod: 1, percentChange: 100 },
    road: { name: steps.name, units: null, currentTotal: 2, changeThisPeriod: 2, percentChange: 100 },
  });
  expect(entireYear.metrics['steps']?.byAttribute[PLACE]?.['park']).toMatchObject({
    changeThisPeriod: 4,
    percentChange: 0,
  });
});

test('shows the hundred of a thousand values with the largest sums, in every period', async () => {
  const values = Array.from({ length: 1_000 }, (_, at) => walk('2026-07-01', 1 + at, `place ${at}`));
  await store({ id: 'everywhere', events: [...values, walk('2026-07-02', 500, 'place 0')] });
  const { mostActiveDay, mostActiveWeek, entireYear } = await read('everywhere', 2026);
  const shown = (period: Pick<typeof mostActiveDay, 'metrics'>): string[] =>
    Object.keys(period.metrics['steps']?.byAttribute[PLACE] ?? {});
  const largest = Array.from({ length: 100 }, (_, at) => `place ${999 - at}`);
  for (const period of [mostActiveDay, mostActiveWeek, entireYear])
    expect(shown(period).toSorted()).toEqual(largest.toSorted());
  expect(entireYear.metrics['steps']?.byAttribute[PLACE]?.['place 950']?.changeThisPeriod).toBe(951);
  expect(entireYear.metrics['steps']?.changeThisPeriod).toBe(501_000);
});

test('percentiles: the share of all users of the tenant with a smaller change', async () => {
  const tenantNo = 5;
  const users = {
    none: [],
    less: [walk('2026-04-04', 1)],
    same: [walk('2026-04-05', 2)],
    me: [walk('2026-04-04', 1), walk('2026-04-06', 1)],
  };
  for (const [id, events] of Object.entries(users)) await store({ id, tenantNo, events });
  await store({
    id: 'minus',
    tenantNo,
    events: [walk('2026-04-04', -1)],
    awards: [{ systemNo: xp.no, date: '2026-04-04', awarded: 9 }],
  });
  const me = await read('me', 2026, tenantNo);
  // 0, 1 and −1 are below 2, of five.
  expect(me.entireYear.metrics['steps']?.percentileThisPeriod).toBe(60);
  // 4 April is a Saturday: its week holds 1 of mine, and 1, −1 and two zeros of the others.
  expect(me.mostActiveWeek).toMatchObject({ start: '2026-03-29', metrics: { steps: { percentileThisPeriod: 60 } } });
  expect(me.mostActiveDay.metrics['steps']).not.toHaveProperty('percentileThisPeriod');
  const minus = await read('minus', 2026, tenantNo);
  expect(minus.entireYear.metrics['steps']?.percentileThisPeriod).toBe(0);
  expect(minus.entireYear.points['xp']?.percentileThisPeriod).toBe(80);
});

test('achievements have the dates of the user’s zone', async () => {
  const newYear = Date.UTC(2026, 0, 1, 3);
  await store({
    id: 'west',
    tz: 'America/New_York',
    events: [walk('2025-12-31', 1)],
    completions: { [walker.no]: newYear, [hidden.no]: newYear },
  });
  const { mostActiveDay, entireYear } = await read('west', 2025);
  expect(mostActiveDay.achievements).toMatchObject([
    { id: walker.id, key: 'walker', achievedAt: '2026-01-01T03:00:00.000Z' },
  ]);
  expect(entireYear.achievements).toHaveLength(1);
  expect((await read('west', 2026)).entireYear.achievements).toEqual([]);
});

test('leaderboards: the rank on each leaderboard with a run in the period', async () => {
  const board = (boardNo: number, runDate: string, score: number) => ({ boardNo, runDate, score });
  await store({ id: 'first', scores: [board(perpetual.no, '2026-01-01', 50), board(one.no, '2026-01-01', 50)] });
  await store({
    id: 'ranked',
    events: [walk('2026-03-03', 40)],
    scores: [
      board(perpetual.no, '2026-01-01', 40),
      board(monthly.no, '2026-11-01', 1),
      board(monthly.no, '2026-02-01', 2),
      board(one.no, '2026-01-01', 40),
    ],
  });
  const { mostActiveDay, entireYear } = await read('ranked', 2026);
  expect(mostActiveDay.leaderboards).toMatchObject({ ever: { rank: 2, value: 40, status: 'active' } });
  expect(Object.keys(mostActiveDay.leaderboards)).toEqual(['ever']);
  expect(entireYear.leaderboards).toMatchObject({ ever: { rank: 2 }, monthly: { id: monthly.id, rank: 1 } });
  expect(Object.keys(entireYear.leaderboards)).toHaveLength(2);
});

describe('the longest streak', () => {
  const days = (from: string, count: number): StoredEvent[] =>
    Array.from({ length: count }, (_, at) =>
      walk(new Date(Date.parse(from) + at * 86_400_000).toISOString().slice(0, 10), 1),
    );

  test('of the year in days; one that began before counts from its start', async () => {
    await store({
      id: 'streak',
      events: [...days('2025-12-30', 4), ...days('2026-05-01', 3), ...days('2026-12-29', 9)],
    });
    expect((await read('streak', 2026)).entireYear.longestStreak).toEqual({
      length: 4,
      frequency: 'daily',
      started: '2025-12-30',
      periodStart: '2026-01-02',
      periodEnd: '2026-01-02',
    });
    expect((await read('streak', 2025)).entireYear.longestStreak).toMatchObject({ length: 2, periodEnd: '2025-12-31' });
    expect((await read('streak', 2027)).entireYear.longestStreak).toMatchObject({ length: 9, started: '2026-12-29' });
  });

  test('by the thresholds of the settings, in their frequency', async () => {
    await store({
      id: 'threshold',
      events: [
        walk('2026-01-10', 6),
        walk('2026-01-20', 4),
        walk('2026-02-01', 10),
        readPages('2026-02-02', 1),
        walk('2026-03-01', 9),
      ],
    });
    const before = catalog.catalog.streaks;
    const metrics = [
      { metricId: steps.id, threshold: 10 },
      { metricId: pages.id, threshold: 1 },
    ];
    onTestFinished(() => void (catalog.catalog.streaks = before));
    catalog.streaks({ frequency: 'monthly', metrics: metrics.slice(0, 1) });
    expect((await read('threshold', 2026)).entireYear.longestStreak).toEqual({
      length: 2,
      frequency: 'monthly',
      started: '2026-01-01',
      periodStart: '2026-02-01',
      periodEnd: '2026-02-28',
    });
    catalog.streaks({ metrics, evaluationMode: 'AND' });
    expect((await read('threshold', 2026)).entireYear.longestStreak).toMatchObject({
      length: 1,
      started: '2026-02-01',
    });
  });
});

test("the default year is the user's current one", async () => {
  await store({ id: 'east', tz: 'Pacific/Kiritimati', events: [walk('2027-01-01', 1)] });
  clock.set(Date.UTC(2026, 11, 31, 12));
  expect((await read('east').finally(() => clock.set(Date.UTC(2026, 10, 18, 12)))).mostActiveDay.date).toBe(
    '2027-01-01',
  );
});

test('refuses an unknown user and a year beyond the calendar', async () => {
  await expect(read('nobody', 2026)).rejects.toMatchObject({ status: 404 });
  await expect(read('idle', 10_000)).rejects.toMatchObject({ status: 422 });
});
