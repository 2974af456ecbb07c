import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const START = '2033-01-01';
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Kiritimati', 'Etc/GMT+12'];
const board = { rankBy: 'metric', metricKey: 'm', status: 'active', start: START } as const;

const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  await put(`${START}T12:00:00Z`);
  const { status } = await laurel.admin.put('/v1/configuration', {
    metrics: [{ key: 'm', name: 'M' }],
    leaderboards: [
      { ...board, key: 'forever', name: 'For ever' },
      { ...board, key: 'months', name: 'Months', runUnit: 'month', runInterval: 1 },
      { ...board, key: 'days', name: 'Days', runUnit: 'day', runInterval: 1 },
      { key: 'streaks', name: 'Streaks', rankBy: 'streak', status: 'active', start: START },
    ],
    streaks: { enabled: true, freezes: { enabled: true, initial: 1, max: 2, autoEarnInterval: 3, autoEarnAmount: 1 } },
  });
  if (status !== 200) throw new Error('The configuration was refused');
});

const put = (now: string) => laurel.admin.put('/v1/clock', { now });

test('advances a year in one call: every day is kept, every run final, every streak over', async () => {
  for (const [index, tz] of ZONES.entries())
    await laurel.app.post('/v1/metrics/m/event', { user: { id: `u${index}`, tz }, value: index + 1 });
  expect((await put('2034-01-01T12:00:00Z')).status).toBe(200);

  const { body: forever } = await laurel.app.get('/v1/users/u2/leaderboards/forever?numEvents=100');
  expect(forever.history).toHaveLength(100);
  expect(forever.history.at(0).date).toBe('2033-09-24');
  expect(forever.history.at(-1)).toMatchObject({ date: '2034-01-01', rank: 4, value: 3 });
  const { rows: days } = await laurel.pool.query(
    `SELECT doc ->> 'key' AS key, count(*)::int AS n, count(DISTINCT day)::int AS days FROM board_snapshots
       JOIN catalog_resources ON no = board_no AND kind = 'leaderboard' GROUP BY 1 ORDER BY 1`,
  );
  expect(days).toEqual(['days', 'forever', 'months', 'streaks'].map((key) => ({ key, n: 365, days: 365 })));
  const { rows: runs } = await laurel.pool.query(
    `SELECT doc ->> 'key' AS key, count(*)::int AS n, bool_and(is_final) AS final FROM board_runs
       JOIN catalog_resources ON no = board_no AND kind = 'leaderboard' GROUP BY 1 ORDER BY 1`,
  );
  expect(runs).toEqual([
    { key: 'days', n: 365, final: true },
    { key: 'months', n: 12, final: true },
  ]);
  const { body: january } = await laurel.app.get('/v1/leaderboards/months?run=2033-01-01');
  expect(january.rankings.map(({ value }: { value: number }) => value)).toEqual([6, 5, 4, 3, 2, 1]);
  expect((await laurel.app.get('/v1/leaderboards/days?run=2033-06-01')).body.rankings).toEqual([]);
  // One freeze on the first day, one after each three days: the streak lasts while there is one at each midnight.
  for (let user = 0; user < ZONES.length; user += 1) {
    const { body: streak } = await laurel.app.get(`/v1/users/u${user}/streak`);
    expect([streak.length, streak.freezes]).toEqual([0, 2]);
  }
  expect((await laurel.app.get('/v1/leaderboards/streaks')).body.rankings).toEqual([]);
  const { rows: lost } = await laurel.pool.query(
    'SELECT count(*)::int AS n FROM streak_changes WHERE kind = 3 AND frequency = 1',
  );
  expect(lost).toEqual([{ n: ZONES.length }]);
});

test('a run is final when the clock is set to 12:00 UTC on the day after its last', async () => {
  await put('2034-02-01T00:00:00Z');
  await laurel.app.post('/v1/metrics/m/event', { user: { id: 'west', tz: 'Etc/GMT+12' }, value: 7 });
  const final = async (): Promise<string[]> => {
    const { rows } = await laurel.pool.query(
      `SELECT run_day FROM board_runs JOIN catalog_resources ON no = board_no AND kind = 'leaderboard'
        WHERE is_final AND doc ->> 'key' = 'months' ORDER BY run_day DESC LIMIT 1`,
    );
    return rows.map(({ run_day: day }) => new Date(day * 86_400_000).toISOString().slice(0, 10));
  };
  await put('2034-02-01T11:59:59.999Z');
  expect(await final()).toEqual(['2033-12-01']);
  await put('2034-02-01T12:00:00Z');
  expect(await final()).toEqual(['2034-01-01']);
  const { body } = await laurel.app.get('/v1/leaderboards/months?run=2034-01-01');
  expect(body.rankings).toMatchObject([{ userId: 'west', rank: 1, value: 7 }]);
});

test('backdates and fills what was activated before the clock advances', async () => {
  const { body: before } = await laurel.admin.get('/v1/configuration');
  await laurel.admin.put('/v1/configuration', {
    ...before,
    achievements: [{ key: 'k', name: 'K', trigger: 'metric', metricKey: 'm', metricValue: 5, status: 'active' }],
    leaderboards: [...before.leaderboards, { ...board, key: 'new', name: 'New' }],
  });
  const at = (await laurel.admin.get('/v1/clock')).body.now;
  await put(new Date(Date.parse(at) + 1_000).toISOString());
  const { body: done } = await laurel.app.get('/v1/users/u5/achievements');
  expect(done).toMatchObject([{ key: 'k', achievedAt: at, completions: 3 }]);
  const { body: filled } = await laurel.app.get('/v1/leaderboards/new');
  expect(filled.rankings.map(({ value }: { value: number }) => value)).toEqual([7, 6, 5, 4, 3, 2, 1]);
});

test('points for time and the daily snapshots of their leaderboard keep their order over a month', async () => {
  const { body: clock } = await laurel.admin.get('/v1/clock');
  const startMs = (Math.floor(Date.parse(clock.now) / 86_400_000) + 1) * 86_400_000;
  const day = (n: number): string => new Date(startMs + n * 86_400_000).toISOString().slice(0, 10);
  await put(`${day(0)}T12:30:00Z`);
  const { body: before } = await laurel.admin.get('/v1/configuration');
  const every = { type: 'time', timeUnit: 'hours', timeInterval: 6, points: 1, status: 'active' };
  const { status } = await laurel.admin.put('/v1/configuration', {
    ...before,
    pointsSystems: [{ key: 'xp', name: 'XP', triggers: [every] }],
    leaderboards: [{ key: 'xp', name: 'XP', rankBy: 'points', pointsSystemKey: 'xp', status: 'active', start: day(0) }],
  });
  if (status !== 200) throw new Error('The configuration was refused');
  await laurel.app.post('/v1/metrics/m/event', { user: { id: 'timed' }, value: 0 });
  await put(`${day(30)}T12:30:00Z`);
  const { body } = await laurel.app.get('/v1/users/timed/leaderboards/xp?numEvents=100');
  // At 18:30 of the first day, then four times a day; on the last at 00:30, 06:30 and 12:30.
  expect(body.history.map((each: { date: string; value: number }) => [each.date, each.value])).toEqual(
    Array.from({ length: 31 }, (_, n) => [day(n), n < 30 ? 1 + 4 * n : 4 * n]),
  );
});
