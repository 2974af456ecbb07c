import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { LiveClient } from '../../live/live-client.ts';
import { Listening } from './listening.ts';

const CONFIGURATION: Configuration = {
  attributes: [{ key: 'land', name: 'Land', type: 'user' }],
  metrics: [{ key: 'flips', name: 'Flips' }],
  pointsSystems: [
    { key: 'xp', name: 'XP', boosts: [{ name: 'Own', start: '2030-03-04', multiplier: 2, userId: 'ada' }] },
  ],
  leaderboards: [
    {
      key: 'daily',
      name: 'Daily',
      rankBy: 'metric',
      metricKey: 'flips',
      start: '2030-03-01',
      runUnit: 'day',
      runInterval: 1,
      breakdownAttributes: ['land'],
      status: 'active',
    },
  ],
};

let listening: Listening;
beforeEach(async () => {
  listening = await Listening.start('2030-03-01T08:00', CONFIGURATION);
});
afterEach(() => listening.close());

const event = async (id: string, land: string): Promise<void> => {
  const user = { id, attributes: { land } };
  const { status } = await listening.laurel.app.post('/v1/metrics/flips/event', { user, value: 1 });
  if (status !== 201) throw new Error('An event was refused.');
};

test('each run of a repeating leaderboard starts and finishes; with a breakdown, each group separately', async () => {
  await listening.to('2030-03-01T10:30');
  // No webhook wanted what was announced at 10:00.
  await listening.listen('leaderboard.started', 'leaderboard.finished');
  await event('ada', 'at');
  await event('bob', 'de');
  await event('cyd', 'de');
  for (let n = 1; n <= 12; n += 1) await event(`user ${n}`, 'es');
  const { admin, app, appUrl } = listening.laurel;
  const { key } = (await admin.post('/v1/application-api-keys', [{ userId: 'ada' }])).body.created[0];
  const { ticket } = (await app.post('/v1/live/tickets', { boards: ['daily'] }, { key })).body;
  const stream = await LiveClient.open(appUrl, { ticket });
  await stream.next('ready');
  await listening.to('2030-03-03T12:59');
  // A user's stream reports the end of the user's own group only: the next start follows all groups.
  await stream.next('leaderboard.started', 1);
  stream.close();
  const heard = stream.of('leaderboard.finished').map(({ leaderboard }) => leaderboard.breakdownAttributeValue);
  expect(heard).toEqual(['at']);
  const messages = await listening.messages();
  const shown = messages.map(({ at, type, payload: { leaderboard } }) => [
    at,
    type,
    leaderboard.start,
    leaderboard.breakdownAttributeValue,
    leaderboard.rankings.length,
  ]);
  expect(shown).toEqual([
    ['2030-03-02T10:00', 'leaderboard.started', '2030-03-03', undefined, 0],
    ['2030-03-02T13:00', 'leaderboard.finished', '2030-03-01', 'at', 1],
    ['2030-03-02T13:00', 'leaderboard.finished', '2030-03-01', 'de', 2],
    // Ten of the 12 who share the first rank, as for any other rank.
    ['2030-03-02T13:00', 'leaderboard.finished', '2030-03-01', 'es', 10],
    ['2030-03-03T10:00', 'leaderboard.started', '2030-03-04', undefined, 0],
  ]);
});

test("a boost of one user starts with the user's day, once, wherever the user moves", async () => {
  await listening.listen('points.boost_started');
  await listening.laurel.app.put('/v1/users/ada', { tz: 'Asia/Tokyo' });
  await listening.stored();
  await listening.to('2030-03-03T14:59');
  expect(await listening.messages()).toEqual([]);
  await listening.to('2030-03-03T15:00');
  await listening.laurel.app.patch('/v1/users/ada', { tz: 'America/New_York' });
  await listening.stored();
  await listening.to('2030-03-05T12:00');
  expect(await listening.messages()).toMatchObject([
    { at: '2030-03-03T15:00', user: 'ada', payload: { boost: { name: 'Own', userId: 'ada', status: 'active' } } },
  ]);
});

test('a live stream gets starts that no webhook wants, once somebody listens', async () => {
  const { laurel } = listening;
  await listening.to('2030-03-01T10:30');
  const { body } = await laurel.admin.post('/v1/live/tickets', {});
  const client = await LiveClient.open(laurel.adminUrl, { ticket: body.ticket as string });
  try {
    await client.next('ready');
    await listening.to('2030-03-01T11:00');
    await listening.to('2030-03-03T10:00');
    const started = [await client.next('leaderboard.started'), await client.next('leaderboard.started', 1)];
    expect(started.map(({ leaderboard }) => leaderboard.start)).toEqual(['2030-03-03', '2030-03-04']);
    await listening.to('2030-03-04T00:00');
    expect((await client.next('points.boost_started')).boost).toMatchObject({ name: 'Own', userId: 'ada' });
  } finally {
    client.close();
  }
  expect(await listening.messages()).toEqual([]);
});
