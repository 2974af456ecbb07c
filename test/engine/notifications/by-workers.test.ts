import { expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { hang, Receiver } from '../webhooks/receiver.ts';
import { Listening } from './listening.ts';
import { opened } from '../../stack/opened.ts';

const CONFIGURATION: Configuration = {
  metrics: [{ key: 'flips', name: 'Flips' }],
  achievements: [
    { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'flips', metricValue: 10, status: 'active' },
    { key: 'year', name: 'A year', trigger: 'anniversary', anniversaryYears: 1, status: 'active' },
  ],
  leaderboards: [
    {
      key: 'days',
      name: 'Days',
      rankBy: 'metric',
      metricKey: 'flips',
      start: '2031-03-01',
      runUnit: 'day',
      runInterval: 1,
      status: 'active',
    },
  ],
  streaks: {
    enabled: true,
    frequency: 'daily',
    freezes: { enabled: true, initial: 1, max: 2, autoEarnInterval: 5, autoEarnAmount: 1 },
  },
};

const listening = opened(() => Listening.start('2031-03-01T12:00', CONFIGURATION));

const send = (id: string, value: number) =>
  listening.laurel.app.post('/v1/metrics/flips/event', { user: { id }, value });

/** Users by the type of their messages, sorted, once there are as many messages as expected. */
async function byType(webhookId: string, expected: number): Promise<Record<string, string[]>> {
  await expect.poll(async () => (await listening.messages(webhookId)).length, { interval: 50 }).toBe(expected);
  const users: Record<string, string[]> = {};
  for (const { type, user } of await listening.messages(webhookId)) (users[type] ??= []).push(user ?? '');
  for (const type of Object.keys(users)) users[type]!.sort();
  return users;
}

test("a batch of 1,000 events reports the streak's start and the achievement to each user once", async () => {
  const webhook = await listening.listen('streak.started', 'streak.extended', 'achievement.completed');
  const ids = Array.from({ length: 100 }, (_, n) => `batch-${String(n).padStart(2, '0')}`);
  const events = Array.from({ length: 1_000 }, (_, n) => ({ key: 'flips', user: { id: ids[n % 100] }, value: 1 }));
  expect((await listening.laurel.admin.post('/v1/metrics/events', events)).status).toBe(202);
  expect(await byType(webhook, 200)).toEqual({ 'streak.started': ids, 'achievement.completed': ids });
  await listening.laurel.admin.delete(`/v1/webhooks?ids=${webhook}`);
});

test('midnights: freezes are consumed and earned, and streaks lost, each at its midnight', async () => {
  await send('ana', 1);
  const webhook = await listening.listen('streak.lost', 'streak.freeze_consumed', 'streak.freeze_earned');
  await listening.to('2031-03-07T12:00');
  const ofAna = (await listening.messages(webhook)).filter(({ user }) => user === 'ana');
  expect(ofAna.map(({ at, type, payload: { user: _user, ...rest } }) => [at, { ...rest, type }])).toEqual([
    ['2031-03-03T00:00', { type: 'streak.freeze_consumed', consumed: 1, freezes: 0 }],
    ['2031-03-04T00:00', { type: 'streak.lost', length: 1 }],
    ['2031-03-06T00:00', { type: 'streak.freeze_earned', earned: 1, freezes: 1 }],
  ]);
  await listening.laurel.admin.delete(`/v1/webhooks?ids=${webhook}`);
});

test('reports an anniversary on its day, but not backdated ones', async () => {
  const webhook = await listening.listen('achievement.completed');
  await send('bob', 5);
  await listening.laurel.app.patch('/v1/users/bob', { signUpDate: '2030-03-09' });
  const achievements = CONFIGURATION.achievements!.map((one) => (one.key === 'ten' ? { ...one, metricValue: 5 } : one));
  await listening.laurel.admin.put('/v1/configuration', { achievements });
  await listening.to('2031-03-10T12:00');
  const { body } = await listening.laurel.app.get('/v1/users/bob/achievements');
  expect((body as { key: string }[]).map(({ key }) => key).toSorted()).toEqual(['ten', 'year']);
  const messages = await listening.messages(webhook);
  expect(messages.map(({ at, user, payload }) => [at, user, payload.achievement.key])).toEqual([
    ['2031-03-09T00:00', 'bob', 'year'],
  ]);
  await listening.laurel.admin.delete(`/v1/webhooks?ids=${webhook}`);
});

test("sends an event's messages at once", async () => {
  const receiver = await Receiver.start();
  try {
    const item = { name: 'Receiver', url: receiver.url, events: ['streak.started', 'achievement.completed'] };
    const { body } = await listening.laurel.admin.post('/v1/webhooks', [item]);
    await send('cyd', 10);
    await expect.poll(() => receiver.received.length, { interval: 20 }).toBe(2);
    const sent = receiver.received.map(({ body: text }) => JSON.parse(text) as { type: string });
    expect(sent.map(({ type }) => type)).toEqual(['streak.started', 'achievement.completed']);
    const messages = await listening.messages(body.created[0].id);
    expect(sent).toEqual(messages.map(({ payload }) => payload as object));
  } finally {
    await receiver.close();
  }
});

test('a hanging receiver delays neither storage nor the creation of messages', async () => {
  const receiver = await Receiver.start(() => hang);
  const item = { name: 'Hangs', url: receiver.url, events: ['streak.started'] };
  const { body } = await listening.laurel.admin.post('/v1/webhooks', [item]);
  try {
    await send('hung 1', 1);
    await expect.poll(() => receiver.received.length, { interval: 20 }).toBe(1);
    // Its message is in flight all the while.
    for (let n = 2; n <= 20; n += 1) await send(`hung ${n}`, 1);
    await listening.stored();
    expect(await listening.messages(body.created[0].id)).toHaveLength(20);
    expect(receiver.received).toHaveLength(1);
  } finally {
    await listening.laurel.admin.delete(`/v1/webhooks?ids=${body.created[0].id}`);
    await receiver.close();
  }
});

test('reports a rank in a new run at once, even if it is the same as in the previous run, and never compares runs', async () => {
  await listening.to('2031-03-12T23:40');
  const webhook = await listening.listen('leaderboard.rank_changed');
  const step = async (time: string, id: string, value: number): Promise<void> => {
    await listening.to(time);
    await send(id, value);
    await listening.stored();
  };
  await step('2031-03-12T23:54', 'dora', 7);
  await step('2031-03-12T23:55', 'erik', 5);
  await step('2031-03-13T00:01', 'erik', 2);
  await step('2031-03-13T00:02', 'dora', 1);
  await listening.to('2031-03-13T01:00');
  const messages = await listening.messages(webhook);
  expect(
    messages.map(({ at, user, payload: { leaderboard } }) => [
      `${at} ${user} ${leaderboard.start}`,
      [leaderboard.previousRank, leaderboard.previousValue],
      [leaderboard.rank, leaderboard.value],
    ]),
  ).toEqual([
    ['2031-03-12T23:54 dora 2031-03-12', [null, null], [1, 7]],
    ['2031-03-12T23:55 erik 2031-03-12', [null, null], [2, 5]],
    ['2031-03-13T00:01 erik 2031-03-13', [null, null], [1, 2]],
    ['2031-03-13T00:02 dora 2031-03-13', [null, null], [2, 1]],
  ]);
  await listening.laurel.admin.delete(`/v1/webhooks?ids=${webhook}`);
});
