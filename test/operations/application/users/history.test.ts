import { beforeAll, expect, test, vi } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const clock = new FixedClock(Date.UTC(2026, 10, 18, 12));
// 12:00 UTC on 18 November is 01:00 on the 19th there.
const user = { id: 'ada lovelace/1', tz: 'Pacific/Auckland' };
const at = `/v1/users/${encodeURIComponent(user.id)}`;

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true, clock }));
beforeAll(async () => {
  for (const [hours, metric, value] of [
    [0, 'flips', 5],
    [0, 'minutes', 0.1],
    [6, 'minutes', 0.2],
    [24, 'minutes', 1],
  ] as const) {
    clock.set(Date.UTC(2026, 10, 18, 12 + hours));
    const { status } = await laurel.app.post(`/v1/metrics/${metric}/event`, {
      user,
      value,
      attributes: { deck: 'verbs' },
    });
    if (status !== 201) throw new Error(`an event was answered ${status}`);
  }
  const stored = async (): Promise<boolean> =>
    (await laurel.pool.query<{ n: number }>('SELECT count(*) AS n FROM events')).rows[0]?.n === 4;
  await vi.waitUntil(stored, { timeout: 120_000 });
});

const range = (aggregation: string, startDate: string, endDate: string): string =>
  `event-summary?aggregation=${aggregation}&startDate=${startDate}&endDate=${endDate}`;

test('a metric by the dates of the user’s zone', async () => {
  const daily = await laurel.app.get(`${at}/metrics/minutes/${range('daily', '2026-11-18', '2026-11-21')}`);
  expect(daily.status).toBe(200);
  expect(daily.body).toEqual([
    { date: '2026-11-18', total: 0, change: 0 },
    { date: '2026-11-19', total: 0.3, change: 0.3 },
    { date: '2026-11-20', total: 1.3, change: 1 },
    { date: '2026-11-21', total: 1.3, change: 0 },
  ]);
  const monthly = await laurel.app.get(`${at}/metrics/minutes/${range('monthly', '2026-10-31', '2026-11-01')}`);
  expect(monthly.body).toEqual([
    { date: '2026-10-01', total: 0, change: 0 },
    { date: '2026-11-01', total: 1.3, change: 1.3 },
  ]);
});

test('points end at the live total', async () => {
  const { status, body } = await laurel.app.get(`${at}/points/xp/${range('weekly', '2026-11-15', '2026-11-22')}`);
  expect(status).toBe(200);
  const total = await laurel.pool.query<{ sum: string }>('SELECT sum(awarded) FROM awards WHERE user_id = $1', [
    user.id,
  ]);
  const sum = Number(total.rows[0]?.sum);
  expect(sum).toBeGreaterThan(0);
  expect(body).toEqual([
    { date: '2026-11-15', total: sum, change: sum },
    { date: '2026-11-22', total: sum, change: 0 },
  ]);
});

test('wrapped: the past year, with the live parts', async () => {
  const { status, body } = await laurel.app.get(`${at}/wrapped`);
  expect(status).toBe(200);
  expect(body.user).toMatchObject(user);
  expect(body.activity).toMatchObject({ daysActive: 2, weeksActive: 1, monthsActive: 1 });
  expect(body.activity.mostActiveDay.date).toBe('2026-11-19');
  expect(body.activity.mostActiveMonth.month).toBe(10);
  expect(body.activity.entireYear).toMatchObject({
    metrics: {
      minutes: {
        currentTotal: 1.3,
        changeThisPeriod: 1.3,
        percentChange: 100,
        percentileThisPeriod: 0,
        byAttribute: { deck: { verbs: { currentTotal: 1.3, changeThisPeriod: 1.3 } } },
      },
    },
    leaderboards: { flips: { rank: 1, value: 5, status: 'active' } },
    longestStreak: { length: 2, frequency: 'daily', started: '2026-11-19', periodStart: '2026-11-20' },
  });
});

test('wrapped for a year without activity is empty, also of leaderboards whose one run covers it', async () => {
  const empty = { metrics: {}, points: {}, achievements: [], leaderboards: {} };
  const { body } = await laurel.app.get(`${at}/wrapped?year=2027`);
  expect(body.activity).toMatchObject({ daysActive: 0, weeksActive: 0, monthsActive: 0 });
  expect(body.activity.mostActiveDay).toEqual({ ...empty, date: '2027-01-01' });
  expect(body.activity.entireYear).toEqual({ ...empty, longestStreak: expect.objectContaining({ length: 0 }) });
});

test.each([
  [`${at}/metrics/flips/${range('daily', '2026-11-19', '2026-11-18')}`, 422],
  [`${at}/metrics/flips/${range('hourly', '2026-11-18', '2026-11-19')}`, 422],
  [`${at}/metrics/flips/${range('daily', '2026-11-31', '2026-12-02')}`, 422],
  [`${at}/metrics/flips/event-summary?aggregation=daily&startDate=2026-11-18`, 422],
  [`${at}/metrics/flops/${range('daily', '2026-11-18', '2026-11-19')}`, 404],
  [`${at}/points/ruby/${range('daily', '2026-11-18', '2026-11-19')}`, 404],
  [`/v1/users/nobody/points/xp/${range('daily', '2026-11-18', '2026-11-19')}`, 404],
  ['/v1/users/nobody/wrapped', 404],
  [`${at}/wrapped?year=0`, 422],
  [`${at}/wrapped?year=soon`, 422],
  [`${at}/wrapped?year=99999`, 422],
])('refuses %s with %i', async (path, status) => {
  expect((await laurel.app.get(path)).status).toBe(status);
});
