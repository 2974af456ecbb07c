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

test('points.system, points.summary, users.singleMetric', async () => {
  expect(await client.points.system('xp')).toMatchObject({ name: 'XP' });
  expect(await client.points.summary('xp')).toHaveLength(11);
  expect(await client.users.singleMetric('18', 'flips')).toMatchObject({ current: 10 });
});

test('an error of ours is an error of its', async () => {
  const refused = client.metrics.event('flips', { user: { id: '18' }, value: 1, attributes: { nope: 'x' } });
  await expect(refused).rejects.toMatchObject({ statusCode: 422 });
});
