import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Notification } from '../../../src/domain/notifications/notification.ts';
import { throttle } from '../../../src/engine/notifications/throttles.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { Listening } from './listening.ts';

const DAY = '2030-03-01';
const SYSTEM = '00000000-0000-4000-8000-000000000001';
const BOARD = '00000000-0000-4000-8000-000000000002';
let listening: Listening;
let hook: string;
beforeEach(async () => {
  listening = await Listening.start(`${DAY}T10:00`);
  hook = await listening.listen('points.changed', 'leaderboard.rank_changed');
});
afterEach(() => listening.close());

const at = (time: string): number => Date.parse(`${DAY}T${time}Z`);
/** Hands over an event's notifications like the persister, at a time of the day. */
const happens = (time: string, ...notifications: Notification[]): Promise<Notification[]> =>
  transaction(listening.laurel.pool, (client) => throttle(client, notifications, at(time)));

let made = 0;
const points = (total: number, added: number, more: object = {}): Notification => ({
  type: 'points.changed',
  tenantNo: 0,
  userId: 'ada',
  atMs: at('10:00'),
  source: `points ${++made}`,
  about: { pointsSystemId: SYSTEM },
  payload: JSON.stringify({
    type: 'points.changed',
    user: { id: 'ada' },
    points: { total, added, awards: [{ awarded: added, total }], ...more },
  }),
});
const rank = (after: number | null, value: number | null, previousRank: number | null): Notification => ({
  type: 'leaderboard.rank_changed',
  tenantNo: 0,
  userId: 'ada',
  atMs: at('10:00'),
  source: `rank ${++made}`,
  about: { leaderboardId: BOARD },
  place: { boardNo: 2, runDay: 20_000, group: '' },
  payload: JSON.stringify({
    type: 'leaderboard.rank_changed',
    leaderboard: { rank: after, value, previousRank, previousValue: 0 },
  }),
});
const open = async (): Promise<number> =>
  (await listening.laurel.pool.query('SELECT count(*)::int AS n FROM notification_windows')).rows[0].n;

test('sends one merged message at the end of a window with pending changes; a window without any ends silently', async () => {
  expect(await happens('10:00', points(10, 10))).toHaveLength(1);
  await happens('10:04', points(25, 15, { level: { key: 'gold' } }));
  await happens('10:05', points(20, -5));
  await listening.to(`${DAY}T10:14:59`);
  expect(await listening.messages()).toEqual([]);
  await listening.to(`${DAY}T10:15`);
  const [message, ...others] = await listening.messages();
  expect(others).toEqual([]);
  expect(message!.payload.points).toEqual({
    total: 20,
    added: 10,
    awards: [
      { awarded: 15, total: 25 },
      { awarded: -5, total: 20 },
    ],
    level: { key: 'gold' },
  });
  // The message began a window: nothing is sent before 10:30, though the last change was at 10:05.
  expect(await happens('10:16', points(21, 1))).toEqual([]);
  await listening.to(`${DAY}T10:30`);
  expect((await listening.messages()).map(({ payload }) => payload.points.added)).toEqual([10, 1]);
  await listening.to(`${DAY}T10:45`);
  expect(await listening.messages()).toHaveLength(2);
  expect(await open()).toBe(0);
  expect(await happens('10:45', points(22, 1))).toHaveLength(1);
});

test('compares a rank with the reported one: a rank that returned is no news', async () => {
  await happens('10:00', rank(3, 50, 5));
  await happens('10:01', rank(2, 60, 3));
  await happens('10:02', rank(1, 70, 2));
  await listening.to(`${DAY}T10:15`);
  const place = { rank: 1, value: 70, previousRank: 3, previousValue: 50 };
  expect((await listening.messages()).map(({ payload }) => payload.leaderboard)).toEqual([place]);
  await happens('10:16', rank(4, 40, 1));
  await happens('10:17', rank(1, 80, 4));
  await listening.to(`${DAY}T10:30`);
  expect(await listening.messages()).toHaveLength(1);
  expect(await open()).toBe(0);
});

test('drops what waits if nobody listens any more', async () => {
  await happens('10:00', points(10, 10), rank(1, 1, null));
  await happens('10:01', points(12, 2));
  await listening.laurel.admin.patch('/v1/webhooks', [{ id: hook, events: ['achievement.completed'] }]);
  await listening.to(`${DAY}T10:20`);
  expect(await listening.messages()).toEqual([]);
  expect(await open()).toBe(0);
});

test('hundreds of windows end together, each with one message', async () => {
  const users = Array.from({ length: 1_300 }, (_, n) => `user ${n}`);
  const all = (time: string, total: number) =>
    happens(time, ...users.map((userId) => ({ ...points(total, 1), userId })));
  expect(await all('10:00', 1)).toHaveLength(users.length);
  expect(await all('10:01', 2)).toEqual([]);
  await listening.to(`${DAY}T10:15`);
  const messages = await listening.messages();
  expect(messages).toHaveLength(users.length);
  expect(new Set(messages.map(({ user }) => user))).toEqual(new Set(users));
});
