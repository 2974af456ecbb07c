import { TrophyApiClient } from '@trophyso/node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';

/** The client published for the contract, as it comes from the registry. It parses strictly. */
let laurel: TestLaurel;
let client: TrophyApiClient;

beforeAll(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP });
  client = new TrophyApiClient({
    apiKey: laurel.adminKey,
    environment: { api: `${laurel.appUrl}/v1`, admin: `${laurel.adminUrl}/v1` },
  });
});
afterAll(() => laurel.close());

test('metrics.event', async () => {
  const answer = await client.metrics.event('flips', {
    user: { id: '18', email: 'ada@example.org', tz: 'Europe/London', attributes: { plan: 'pro' } },
    value: 10,
    attributes: { deck: 'verbs' },
  });
  expect(answer).toMatchObject({ total: 10, currentStreak: { length: 1 } });
  expect(answer.achievements.map(({ name }) => name)).toContain('Ten flips');
  expect(answer.points['xp']).toMatchObject({ added: 150 });
  expect(answer.leaderboards['flips']).toMatchObject({ rank: 1 });
});

test('users', async () => {
  const { users } = client;
  expect(await users.create({ id: '19', name: 'Grace', tz: 'America/New_York' })).toMatchObject({ id: '19' });
  expect(await users.identify('19', { email: 'grace@example.org' })).toMatchObject({ email: 'grace@example.org' });
  expect(await users.update('19', { attributes: { plan: 'free' } })).toMatchObject({ attributes: { plan: 'free' } });
  expect((await users.get('19')).created).toBeInstanceOf(Date);
  await users.updatePreferences('19', { notifications: { recap: ['email'] } });
  expect((await users.getPreferences('19')).notifications).toMatchObject({ recap: ['email'] });
  expect(await users.allMetrics('18')).toHaveLength(2);
  expect(await users.singleMetric('18', 'flips')).toMatchObject({ current: 10 });
  const range = { aggregation: 'daily', startDate: '2026-11-18', endDate: '2026-11-20' } as const;
  expect(await users.metricEventSummary('18', 'flips', range)).toHaveLength(3);
  expect(await users.pointsEventSummary('18', 'xp', range)).toHaveLength(3);
  expect(await users.achievements('18', { includeIncomplete: 'true' })).toHaveLength(4);
  expect(await users.streak('18', { historyPeriods: 3 })).toMatchObject({ length: 1 });
  expect(await users.points('18', 'xp')).toMatchObject({ total: 150 });
  expect(await users.leaderboard('18', 'flips')).toMatchObject({ rank: 1, value: 10 });
  expect(await users.wrapped('18')).toMatchObject({ user: { id: '18' } });
});

test('a field that the client holds as null is written as null, and says nothing', async () => {
  const NULL = null as unknown as undefined;
  const unset = { email: NULL, name: NULL, tz: null, deviceTokens: null, subscribeToEmails: NULL, attributes: NULL };
  const user = { id: '20', name: 'Nell', tz: 'Asia/Tokyo', deviceTokens: ['t'], email: 'nell@example.org' };
  await client.users.create({ ...user, attributes: { plan: 'pro' } });
  const before = await client.users.get('20');
  expect(await client.users.identify('20', unset as object)).toEqual(before);
  expect(await client.users.update('20', unset as object)).toEqual(before);
  const event = { user: { id: '20', ...(unset as object) }, value: 1, attributes: NULL as unknown as {} };
  expect(await client.metrics.event('minutes', event)).toMatchObject({ total: 1 });
  expect(await client.users.get('20')).toMatchObject({ ...user, attributes: { plan: 'pro' } });
  await client.users.updatePreferences('20', { notifications: { recap: NULL as unknown as [] } });
});

test('achievements', async () => {
  expect(await client.achievements.all()).toHaveLength(4);
  const completed = await client.achievements.complete('tour', { user: { id: '18' } });
  const again = await client.achievements.complete('tour', { user: { id: '18' } });
  expect(again.completionId).toBe(completed.completionId);
});

test('points, streaks, leaderboards', async () => {
  expect(await client.points.system('xp')).toMatchObject({ name: 'XP' });
  expect(await client.points.summary('xp', { userAttributes: 'plan:pro' })).toHaveLength(11);
  expect(await client.streaks.list({ userIds: ['18', 'nobody'] })).toHaveLength(2);
  expect(await client.leaderboards.all()).toHaveLength(3);
  const board = await client.leaderboards.get('flips', { limit: 5 });
  expect(board.rankings).toMatchObject([{ userId: '18', rank: 1, value: 10 }]);
});

test('an error of ours is an error of its', async () => {
  const refused = client.metrics.event('flips', { user: { id: '18' }, value: 1, attributes: { nope: 'x' } });
  await expect(refused).rejects.toMatchObject({ statusCode: 422 });
});
