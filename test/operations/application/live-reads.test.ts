import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
beforeAll(async () => {
  for (const [id, value] of [
    ['a', 20],
    ['b', 10],
    ['c', 10],
  ] as const) {
    const user = { id, attributes: { plan: 'pro' } };
    const { status } = await laurel.app.post('/v1/metrics/flips/event', { user, value });
    if (status !== 201) throw new Error(`The event was answered ${status}`);
  }
});

// The client checks every answer against the operation's schema and the contract.
test.each([
  '/v1/leaderboards',
  '/v1/leaderboards?includeFinished=true',
  '/v1/leaderboards/flips',
  '/v1/leaderboards/flips?offset=1&limit=1&run=2026-01-01',
  '/v1/leaderboards/flips?userId=b&offset=-1',
  '/v1/leaderboards/plans?userAttributes=plan:pro',
  '/v1/users/a/leaderboards/flips',
  '/v1/users/a/leaderboards/plans?numEvents=0',
  '/v1/users/a/streak',
  '/v1/users/a/streak?historyPeriods=30',
  '/v1/streaks?userIds=a,b&userIds=c',
  '/v1/users/a/points/xp',
  '/v1/users/a/points/xp?awards=100',
  '/v1/users/a/points/xp/boosts',
  '/v1/points/xp/boosts',
  '/v1/points/xp/boosts?includeFinished=true',
  '/v1/points/xp/levels',
  '/v1/points/xp/level-summary',
])('%s', async (path) => {
  expect((await laurel.app.get(path)).status).toBe(200);
});

test.each([
  [422, '/v1/leaderboards?includeFinished=maybe'],
  [422, '/v1/leaderboards/flips?limit=-1'],
  [422, '/v1/leaderboards/flips?offset=-1'],
  [422, '/v1/leaderboards/flips?offset=x'],
  [422, '/v1/leaderboards/flips?run=today'],
  [422, '/v1/leaderboards/flips?userAttributes=plan:pro'],
  [422, '/v1/leaderboards/plans'],
  [422, '/v1/users/a/leaderboards/flips?numEvents=101'],
  [422, '/v1/users/a/leaderboards/flips?numEvents=-1'],
  [422, '/v1/users/a/streak?historyPeriods=seven'],
  [422, '/v1/users/a/streak?historyPeriods=-1'],
  [422, '/v1/streaks'],
  [422, '/v1/streaks?userIds='],
  [422, '/v1/users/a/points/xp?awards=0'],
  [422, '/v1/users/a/points/xp?awards=101'],
  [404, '/v1/leaderboards/none'],
  [404, '/v1/users/a/leaderboards/none'],
  [404, '/v1/users/none/leaderboards/flips'],
  [404, '/v1/users/none/streak'],
  [404, '/v1/users/none/points/xp'],
  [404, '/v1/users/a/points/none'],
  [404, '/v1/users/none/points/xp/boosts'],
  [404, '/v1/points/none/boosts'],
  [404, '/v1/points/none/levels'],
  [404, '/v1/points/none/level-summary'],
])('%i %s', async (status, path) => {
  expect((await laurel.app.get(path)).status).toBe(status);
});

test('an absent parameter has its default, and reads follow events at once', async () => {
  const { body } = await laurel.app.get('/v1/leaderboards/flips?userId=b&offset=-1');
  expect(body.rankings.map(({ userId, rank }: { userId: string; rank: number }) => [userId, rank])).toEqual([
    ['c', 2],
    ['b', 2],
  ]);
  expect((await laurel.app.get('/v1/users/a/streak')).body.streakHistory).toHaveLength(7);
  expect((await laurel.app.get('/v1/users/a/leaderboards/flips')).body).toMatchObject({ rank: 1, value: 20 });
});
