import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { connectionOf } from '../../../src/redis/endpoints.ts';
import { shardOfKey } from '../../../src/redis/keys.ts';
import { knownPart } from '../../../src/redis/parts.ts';
import { rebuildByHand } from '../../engine/rebuild/by-hand.ts';
import { startLaurel } from '../../laurel.ts';
import { emptyRedis, keysOf } from '../../stack/all-servers.ts';
import { opened } from '../../stack/opened.ts';

// Ranking among given users. `TEST_SPREAD=4` puts them on four shards.

const BOARD = { rankBy: 'metric', metricKey: 'm', status: 'active', start: '2030-03-01' } as const;
const CONFIGURATION: Configuration = {
  attributes: [{ key: 'land', name: 'Land', type: 'user' }],
  metrics: [{ key: 'm', name: 'M', unitType: 'number' }],
  leaderboards: [
    { ...BOARD, key: 'ever', name: 'Ever', maxParticipants: 2 },
    { ...BOARD, key: 'days', name: 'Days', maxParticipants: 2, runUnit: 'day', runInterval: 1 },
    { ...BOARD, key: 'lands', name: 'Lands', breakdownAttributes: ['land'], runUnit: 'day', runInterval: 1 },
  ],
};
const USERS = Array.from({ length: 24 }, (_, n) => `u${n}`);

let keyOfU1: string;
const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  await to('2030-03-01T12:00:00Z');
  await laurel.admin.put('/v1/configuration', CONFIGURATION);
  for (const [n, id] of USERS.entries()) {
    const user = { id, name: `User ${n}`, attributes: { land: n % 2 === 0 ? 'de' : 'fr' } };
    // Pairs share a score; the last two have none.
    await laurel.app.post('/v1/metrics/m/event', { user, value: 11 - Math.floor(n / 2) });
  }
  keyOfU1 = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'u1' }])).body.created[0].key;
});

const to = (now: string) => laurel.admin.put('/v1/clock', { now });
const ask = (board: string, body: object, key?: string) =>
  laurel.app.post(`/v1/leaderboards/${board}/rankings`, body, key === undefined ? {} : { key });
const ranked = async (board: string, body: object, key?: string): Promise<string[]> => {
  const answer = await ask(board, body, key);
  expect([answer.status, answer.body.error]).toEqual([200, undefined]);
  return answer.body.rankings.map(
    ({ rank, userId, value }: { rank: number; userId: string; value: number }) => `${rank} ${userId} ${value}`,
  );
};

test('ranks the given users among themselves, with names, as GET ranks everyone', async () => {
  const shards = new Set(USERS.map((id) => knownPart(laurel.redis, 0, id).shard));
  expect(shards.size).toBe(Number(process.env['TEST_SPREAD'] ?? 1));
  const { status, body } = await ask('ever', { userIds: ['u4', 'u23', 'u9', 'unknown', 'u5', 'u4'] });
  expect([status, body.key, body.status]).toEqual([200, 'ever', 'active']);
  expect(body.rankings).toEqual([
    { userId: 'u5', userName: 'User 5', rank: 1, value: 9 },
    { userId: 'u4', userName: 'User 4', rank: 1, value: 9 },
    { userId: 'u9', userName: 'User 9', rank: 3, value: 7 },
  ]);
  const { rankings } = (await laurel.app.get('/v1/leaderboards/ever')).body;
  expect((await ask('ever', { userIds: ['u0', 'u1'] })).body.rankings).toEqual(
    expect.arrayContaining(rankings as unknown[]),
  );
  expect(await ranked('ever', { userIds: USERS })).toHaveLength(22);
  expect(await ranked('ever', { userIds: USERS, around: 'u20', offset: -2, limit: 3 })).toEqual([
    '19 u18 2',
    '21 u21 1',
    '21 u20 1',
  ]);
});

test('a user’s percentile and number of participants count everyone with a score', async () => {
  const of = async (id: string, board = 'ever') => {
    const { rank, value, percentile, participants } = (await laurel.app.get(`/v1/users/${id}/leaderboards/${board}`))
      .body;
    return [rank, value, percentile, participants];
  };
  expect(await of('u1')).toEqual([1, 11, 100, 22]);
  expect(await of('u2')).toEqual([null, null, 90.9, 22]);
  expect(await of('u20')).toEqual([null, null, 9, 22]);
  expect(await of('u23')).toEqual([null, null, null, 22]);
  expect(await of('u3', 'lands')).toEqual([2, 10, 90.9, 11]);
});

test('an application key asks about lists with its own user, and sees the group of that user', async () => {
  const friends = { userIds: ['u1', 'u2', 'u3', 'u7'] };
  expect(await ranked('ever', friends, keyOfU1)).toEqual(['1 u1 11', '2 u3 10', '2 u2 10', '4 u7 8']);
  expect(await ranked('lands', friends, keyOfU1)).toEqual(['1 u1 11', '2 u3 10', '3 u7 8']);
  expect(await ranked('lands', friends)).toEqual(['1 u1 11', '2 u3 10', '2 u2 10', '4 u7 8']);
  const german = { ...friends, userAttributes: { land: 'de' } };
  expect(await ranked('lands', german)).toEqual(['1 u2 10']);
  for (const [body, board] of [
    [{ userIds: ['u2', 'u3'] }, 'ever'],
    [{ userIds: ['u2'], around: 'u2' }, 'ever'],
    [german, 'lands'],
  ] as const) {
    const { status } = await ask(board, body, keyOfU1);
    expect([body, status]).toEqual([body, 403]);
  }
});

test('refuses lists that are empty or too long, and accepts 500 of the longest IDs', async () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => String(n).padStart(255, '0'));
  expect(await ranked('ever', { userIds: many(500) })).toEqual([]);
  for (const [body, status] of [
    [{ userIds: many(501) }, 400],
    [{ userIds: [] }, 400],
    [{ userIds: 'u1' }, 400],
    [{ userIds: [1] }, 400],
    [{}, 400],
    [{ userIds: ['u1'], limit: -1 }, 400],
    [{ userIds: ['u1'], around: 'u2' }, 422],
    [{ userIds: ['u1'], offset: -1 }, 422],
    [{ userIds: ['u1'], run: '2029-01-01' }, 422],
    [{ userIds: ['u1'], userAttributes: { land: 'de' } }, 422],
  ] as const)
    expect([body, (await ask('ever', body)).status]).toEqual([body, status]);
  expect((await ask('unknown', { userIds: ['u1'] })).status).toBe(404);
});

test('hidden users are left out, and look like unknown ones', async () => {
  const asked = { userIds: ['u1', 'u3', 'u7'] };
  await laurel.admin.patch('/v1/users/u3', { hidden: true });
  expect(await ranked('ever', asked, keyOfU1)).toEqual(['1 u1 11', '2 u7 8']);
  expect(await ranked('lands', asked)).toEqual(['1 u1 11', '2 u7 8']);
  await laurel.admin.patch('/v1/users/u3', { hidden: false });
  expect(await ranked('ever', asked)).toEqual(['1 u1 11', '2 u3 10', '3 u7 8']);
});

test('a rebuilt Redis gives the same answers; so does Postgres, once the run is final', async () => {
  const run = '2030-03-01';
  const read = async () => [
    await ranked('ever', { userIds: USERS }),
    await ranked('days', { userIds: USERS, run }),
    await ranked('lands', { userIds: USERS, run, around: 'u9', offset: -3, limit: 7 }),
    await ranked('lands', { userIds: USERS, run }, keyOfU1),
    await ranked('lands', { userIds: USERS, run, userAttributes: { land: 'de' } }),
    (await laurel.app.get(`/v1/users/u9/leaderboards/days?run=${run}&numEvents=0`)).body,
    (await laurel.app.get(`/v1/users/u9/leaderboards/lands?run=${run}&numEvents=0`)).body,
  ];
  const before = await read();
  expect(before[1]).toHaveLength(22);
  expect(before[3]).toHaveLength(11);
  const redis = await laurel.connect();
  const left = async (): Promise<number> => {
    const outboxes = await keysOf(redis, '{s*}:outbox');
    const lengths = await Promise.all(outboxes.map((key) => connectionOf(redis, shardOfKey(key)).xlen(key)));
    return lengths.reduce((sum, length) => sum + length, 0);
  };
  await expect.poll(left).toBe(0);
  await emptyRedis(redis);
  await rebuildByHand(laurel, redis);
  expect(await read()).toEqual(before);
  await to('2030-03-03T13:00:00Z');
  // With their next event, users forget their scores in the run.
  for (const id of ['u1', 'u9'])
    for (const value of [-1, 1]) await laurel.app.post('/v1/metrics/m/event', { user: { id }, value });
  const cleared = `SELECT FROM board_runs WHERE run_day = '2030-03-01'::date - '1970-01-01'::date AND is_cleared`;
  await expect.poll(async () => (await laurel.pool.query(cleared)).rowCount).toBe(2);
  expect(await read()).toEqual(before);
});
