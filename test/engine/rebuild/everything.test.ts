import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { rebuildByHand } from './by-hand.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { dump } from './dump.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

// What the clock and the jobs leave in Redis, besides events: groups of leaderboards, filled leaderboards, time triggers,
// freezes, pauses.
const BOARD = { rankBy: 'metric', metricKey: 'm', status: 'active' } as const;
const DAILY = { runUnit: 'day', runInterval: 1 } as const;
const CONFIGURATION: Configuration = {
  attributes: [{ key: 'land', name: 'Land', type: 'user' }],
  metrics: [{ key: 'm', name: 'M', unitType: 'number', units: '' }],
  streaks: { enabled: true, frequency: 'daily', freezes: { enabled: true, initial: 1, max: 2 } },
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'time', timeUnit: 'hours', timeInterval: 6, points: 3, status: 'active' }],
    },
  ],
  leaderboards: [
    { ...BOARD, ...DAILY, key: 'lands', name: 'By land', start: '2030-01-01', breakdownAttributes: ['land'] },
    { ...BOARD, key: 'ever', name: 'Ever', start: '2030-01-01', breakdownAttributes: ['land'] },
    { key: 'days', name: 'Streaks', rankBy: 'streak', start: '2030-01-01', status: 'active' },
    { ...BOARD, ...DAILY, key: 'filled', name: 'Filled', start: '2030-03-01', status: 'inactive' },
  ],
};
const LANDS = ['fr', 'de', 'it'];

let redis: TestLaurel['redis'];

const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  redis = await laurel.connect();
  await redisReady(redis);
});

const to = async (now: string): Promise<void> =>
  expect((await laurel.admin.put('/v1/clock', { now })).status).toBe(200);

async function event(id: string, value: number, more: { land?: string; key?: string } = {}): Promise<void> {
  const user = { id, tz: 'Asia/Tokyo', ...(more.land !== undefined && { attributes: { land: more.land } }) };
  const headers: Record<string, string> = more.key === undefined ? {} : { 'Idempotency-Key': more.key };
  expect((await laurel.app.post('/v1/metrics/m/event', { user, value }, { headers })).status).toBe(201);
}

const differences = () => differencesIn({ redis, pool: laurel.pool });

/** Like `dump`, but of a run's groups only those with a member: a rebuild restores no others. */
async function held(): Promise<Record<string, unknown>> {
  const all = await dump(redis);
  for (const [key, groups] of Object.entries(all)) {
    if (!/:g:/.test(key)) continue;
    all[key] = (groups as string[]).filter((group) => `${key.replace(':g:', ':b:')}:${group}` in all);
    if ((all[key] as string[]).length === 0) delete all[key];
  }
  return all;
}

test('restores what leaderboards with a breakdown, filled leaderboards, time triggers, freezes and pauses leave in Redis', async () => {
  await to('2030-03-01T01:00:00Z');
  expect((await laurel.admin.put('/v1/configuration', CONFIGURATION)).status).toBe(200);
  for (let day = 1; day <= 3; day += 1) {
    await to(`2030-03-0${day}T03:00:00Z`);
    for (let n = 0; n < 6; n += 1) {
      // Some lose a streak or use a freeze, some move from one country to another.
      if (n % 3 < day)
        await event(`u${n}`, n - 1.5, { land: LANDS[(n + (n === 4 ? day : 0)) % 3]!, key: `${n} ${day}` });
    }
  }
  await event('landless', 5);
  const pauses = [{ userId: 'u1', start: '2030-03-03', end: '2030-03-06' }];
  expect((await laurel.admin.post('/v1/streaks/pauses', { pauses })).body.issues).toEqual([]);
  const { body: boards } = await laurel.admin.get('/v1/leaderboards');
  const { id } = boards.find((board: { key: string }) => board.key === 'filled');
  expect((await laurel.admin.patch('/v1/leaderboards', [{ id, status: 'active' }])).body.issues).toEqual([]);
  await expect.poll(async () => (await laurel.admin.get('/v1/leaderboard-fillings')).body[0]?.status).toBe('done');
  await laurel.admin.delete('/v1/users?ids=u5');
  await event('u5', 9, { land: 'it', key: '5 3' });
  await to('2030-03-05T03:00:00Z');
  for (let n = 0; n < 4; n += 1) await event(`u${n}`, 10 + n, { land: LANDS[n % 3]! });
  await expect.poll(() => redis.xlen('{s0}:outbox')).toBe(0);
  await expect.poll(differences).toEqual([]);
  const before = await held();
  for (const kind of ['b', 'g', 'p', 'i', 'u'])
    expect([kind, Object.keys(before).some((key) => key.includes(`:${kind}:`))]).toEqual([kind, true]);

  await emptyRedis(redis);
  await rebuildByHand(laurel, redis);

  expect(await held()).toEqual(before);
  expect(await differences()).toEqual([]);

  // A run that ends now is complete, group by group.
  await to('2030-03-07T03:00:00Z');
  const { status, body } = await laurel.app.get('/v1/leaderboards/lands?run=2030-03-05&userAttributes=land:fr');
  expect([status, body.error]).toEqual([200, undefined]);
  expect(body.rankings.map(({ userId, value }: { userId: string; value: number }) => [userId, value])).toEqual([
    ['u3', 13],
    ['u0', 10],
  ]);
  expect(await differences()).toEqual([]);
});
