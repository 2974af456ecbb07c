import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { createClockControl } from '../../../src/engine/schedule/clock-control.ts';
import type { TestClock } from '../../../src/engine/schedule/test-clock.ts';
import { Listening } from './listening.ts';

const BOARD = {
  key: 'top',
  name: 'Top',
  rankBy: 'metric',
  metricKey: 'flips',
  start: '2030-03-01',
  status: 'active',
} as const;
const CONFIGURATION: Configuration = {
  metrics: [{ key: 'flips', name: 'Flips' }],
  leaderboards: [{ ...BOARD, maxParticipants: 3 }],
};

let listening: Listening;
beforeEach(async () => {
  listening = await Listening.start('2030-03-01T09:00', CONFIGURATION);
});
afterEach(() => listening.close());

async function event(id: string, value: number): Promise<void> {
  const { status } = await listening.laurel.app.post('/v1/metrics/flips/event', { user: { id }, value });
  if (status !== 201) throw new Error('An event was refused.');
  await listening.stored();
}

/** Storing waits while another connection has locked the cursor of the shard. */
async function whileNothingIsStored(work: () => Promise<void>): Promise<void> {
  const holder = await listening.laurel.pool.connect();
  try {
    await holder.query('BEGIN');
    await holder.query('SELECT FROM outbox_cursors WHERE shard = 0 FOR UPDATE');
    await work();
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
}

/** `time user previous rank → rank`, since the last call; of one webhook or of all. */
let seen = 0;
async function changes(webhookId?: string): Promise<string[]> {
  const messages = await listening.messages(webhookId);
  const since = messages.slice(seen);
  seen = messages.length;
  return since.map(({ at, user, payload: { leaderboard } }) => {
    const place = (rank: number | null, value: number | null): string => (rank === null ? '-' : `${rank} (${value})`);
    const { rank, value, previousRank, previousValue } = leaderboard;
    return `${at.slice(11)} ${user} ${place(previousRank, previousValue)} → ${place(rank, value)}`;
  });
}

test('one passes two: both are notified, including the one who falls off, even without listeners before', async () => {
  seen = 0;
  await event('ada', 30);
  await event('bob', 20);
  await event('cyd', 10);
  await listening.listen('leaderboard.rank_changed');
  await listening.to('2030-03-01T09:30');
  await event('dan', 25);
  expect(await changes()).toEqual(['09:30 dan - → 2 (25)']);
  await listening.to('2030-03-01T09:44');
  expect(await changes()).toEqual([]);
  await listening.to('2030-03-01T09:45');
  expect((await changes()).toSorted()).toEqual(['09:45 bob 2 (20) → 3 (20)', '09:45 cyd 3 (10) → -']);
  // Dan was reported in this window, and is passed in it: the change waits for the window's end.
  await listening.to('2030-03-01T09:46');
  await event('bob', 7);
  expect(await changes()).toEqual([]);
  await listening.to('2030-03-01T10:05');
  expect((await changes()).toSorted()).toEqual(['09:46 bob 3 (20) → 2 (27)', '10:01 dan 2 (25) → 3 (25)']);
  await listening.to('2030-03-01T12:00');
  expect(await changes()).toEqual([]);
});

test('events that are not stored yet when the clock advances are reported at the time of their acceptance', async () => {
  seen = 0;
  await event('ada', 30);
  await event('bob', 20);
  await event('cyd', 10);
  await listening.listen('leaderboard.rank_changed');
  await listening.to('2030-03-01T09:30');
  const { laurel } = listening;
  const second = await laurel.another();
  let moved = Promise.resolve();
  await whileNothingIsStored(async () => {
    await second.app.post('/v1/metrics/flips/event', { user: { id: 'dan' }, value: 25 });
    await second.admin.post('/v1/metrics/events', [{ key: 'flips', user: { id: 'eve' }, value: 40 }]);
    moved = listening.to('2030-03-01T09:50');
    await sleep(1_000);
    expect((await second.admin.get('/v1/clock')).body.now).toBe('2030-03-01T09:30:00.000Z');
  });
  await moved;
  expect((await changes()).toSorted()).toEqual([
    '09:30 dan - → 2 (25)',
    '09:30 eve - → 1 (40)',
    '09:45 ada 1 (30) → 2 (30)',
    '09:45 bob 2 (20) → -',
    '09:45 cyd 3 (10) → -',
    '09:45 dan 2 (25) → 3 (25)',
  ]);
});

test('the clock does not advance while nothing can be stored: 503 with the time to retry', async () => {
  const { laurel } = listening;
  const clock = laurel.services.clock as TestClock;
  const control = createClockControl({ pool: laurel.pool, redis: laurel.redis, clock, patienceMs: 300 });
  await whileNothingIsStored(async () => {
    await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 });
    await expect(control.set(Date.parse('2030-03-01T10:00Z'), { who: 'test' })).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('the clock is unchanged') as string,
      headers: { 'Retry-After': expect.any(String) as string },
    });
    expect((await laurel.admin.get('/v1/clock')).body.now).toBe('2030-03-01T09:00:00.000Z');
  });
  await listening.to('2030-03-01T10:00');
  expect((await laurel.admin.get('/v1/clock')).body.now).toBe('2030-03-01T10:00:00.000Z');
});

test('ties: a user who shared the first rank is passed by one who stays first', async () => {
  seen = 0;
  await listening.listen('leaderboard.rank_changed');
  await event('ada', 10);
  await event('bob', 10);
  expect(await changes()).toEqual(['09:00 ada - → 1 (10)', '09:00 bob - → 1 (10)']);
  await listening.to('2030-03-01T10:00');
  await event('ada', 1);
  expect(await changes()).toEqual([]);
  await listening.to('2030-03-01T10:15');
  expect(await changes()).toEqual(['10:15 bob 1 (10) → 2 (10)']);
});

test('reports rankings at once, and then at most once in 15 minutes, with the latest state', async () => {
  const webhook = await listening.listen('leaderboard.changed');
  const reported = async (): Promise<string[]> =>
    (await listening.messages(webhook)).map(({ payload: { leaderboard } }) =>
      leaderboard.rankings
        .map(({ userId, value }: { userId: string; value: number }) => `${userId} ${value}`)
        .join(', '),
    );
  await event('ada', 1);
  await expect.poll(reported).toEqual(['ada 1']);
  for (const [minute, id] of [
    ['05', 'bob'],
    ['10', 'cyd'],
    ['12', 'ada'],
  ] as const) {
    await listening.to(`2030-03-01T09:${minute}`);
    await event(id, 5);
  }
  await listening.to('2030-03-01T09:14:50');
  expect(await reported()).toEqual(['ada 1']);
  await listening.to('2030-03-01T09:16');
  expect(await reported()).toEqual(['ada 1', 'ada 6, cyd 5, bob 5']);
  await listening.to('2030-03-01T12:00');
  expect(await reported()).toHaveLength(2);
});

test('points paid by the clock move no streak leaderboard, which reports nothing', async () => {
  const trigger = { type: 'time', timeUnit: 'hours', timeInterval: 1, points: 1, status: 'active' } as const;
  const configuration: Configuration = {
    ...CONFIGURATION,
    pointsSystems: [{ key: 'xp', name: 'XP', triggers: [trigger] }],
    leaderboards: [{ key: 'streaks', name: 'Streaks', rankBy: 'streak', start: '2030-03-01', status: 'active' }],
    streaks: { enabled: true, frequency: 'daily' },
  };
  await listening.laurel.admin.put('/v1/configuration', configuration);
  await listening.listen('leaderboard.changed', 'points.changed');
  await event('ada', 1);
  await listening.to('2030-03-01T10:30');
  await listening.stored();
  expect((await listening.messages()).map(({ at, type }) => `${at.slice(11)} ${type}`)).toEqual([
    '09:00 leaderboard.changed',
    '10:00 points.changed',
  ]);
});

test('a hidden user leaves the leaderboard and moves others up; later actions of the hidden user report no rank', async () => {
  seen = 0;
  const hide = (hidden: boolean) => listening.laurel.admin.patch('/v1/users/ada', { hidden });
  const ranks = await listening.listen('leaderboard.rank_changed');
  const rankings = await listening.listen('leaderboard.changed');
  await event('ada', 30);
  await event('bob', 20);
  await listening.to('2030-03-01T10:00');
  expect(await changes(ranks)).toEqual(['09:00 ada - → 1 (30)', '09:00 bob - → 2 (20)']);
  await hide(true);
  await listening.stored();
  await listening.to('2030-03-01T10:20');
  expect(await changes(ranks)).toEqual(['10:00 ada 1 (30) → -', '10:15 bob 2 (20) → 1 (20)']);
  await event('ada', 30);
  await event('bob', 1);
  await listening.to('2030-03-01T11:00');
  expect(await changes(ranks)).toEqual([]);
  const boards = await listening.messages(rankings);
  expect(boards.at(-1)!.payload.leaderboard.rankings).toEqual([{ userId: 'bob', userName: null, rank: 1, value: 21 }]);
  await hide(false);
  await listening.stored();
  await listening.to('2030-03-01T11:30');
  expect(await changes(ranks)).toEqual(['11:00 ada - → 1 (60)', '11:15 bob 1 (21) → 2 (21)']);
});

test('announces an import to nobody: its users take part in the next comparison', async () => {
  seen = 0;
  await event('ada', 30);
  await event('bob', 20);
  await listening.listen('leaderboard.rank_changed');
  await listening.to('2030-03-01T09:30');
  const users = [{ id: 'old', metrics: { flips: { total: 25, days: { '2030-03-01': 25 } } } }];
  expect((await listening.laurel.admin.post('/v1/imports?import=past', users)).status).toBe(201);
  await listening.stored();
  await event('ada', 1);
  expect(await changes()).toEqual([]);
  await listening.to('2030-03-01T10:15');
  expect(await changes()).toEqual([]);
  await event('bob', 8);
  await listening.to('2030-03-01T10:45');
  expect((await changes()).toSorted()).toEqual(['10:15 bob 3 (20) → 2 (28)', '10:30 old 2 (25) → 3 (25)']);
});
