import { expect, test } from 'vitest';
import type { Notification } from '../../../src/domain/notifications/notification.ts';
import { throttle } from '../../../src/engine/notifications/throttles.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { testDatabase } from '../../postgres/database.ts';
import { opened } from '../../stack/opened.ts';

const NOW = Date.UTC(2030, 2, 1, 10);
const MINUTE = 60_000;
const SYSTEM = '00000000-0000-4000-8000-000000000001';
const BOARD = '00000000-0000-4000-8000-000000000002';

const database = opened(() => testDatabase({ redis: false }));

const enter = (notifications: Notification[], nowMs: number): Promise<Notification[]> =>
  transaction(database.pool, (client) => throttle(client, notifications, nowMs));

const points = (userId: string, total: number, added: number, more: object = {}): Notification => ({
  type: 'points.changed',
  tenantNo: 1,
  userId,
  atMs: NOW,
  source: `${userId}:${total}`,
  about: { pointsSystemId: SYSTEM },
  payload: JSON.stringify({
    type: 'points.changed',
    user: { id: userId },
    points: { total, added, awards: [{ id: `award ${total}`, awarded: added, total }], ...more },
  }),
});

const rank = (userId: string, after: number | null, previousRank: number | null): Notification => ({
  type: 'leaderboard.rank_changed',
  tenantNo: 1,
  userId,
  atMs: NOW,
  source: `${userId}:${previousRank}:${after}`,
  about: { leaderboardId: BOARD },
  place: { boardNo: 2, runDay: 20_000, group: '' },
  payload: JSON.stringify({
    type: 'leaderboard.rank_changed',
    user: { id: userId },
    leaderboard: {
      rank: after,
      value: after && 100 - after,
      previousRank,
      previousValue: previousRank && 100 - previousRank,
    },
  }),
});

const waiting = async (userId: string): Promise<Record<string, unknown> | undefined> =>
  (await database.pool.query('SELECT * FROM notification_windows WHERE user_id = $1', [userId])).rows[0];

test('sends the first at once and holds what follows within 15 minutes', async () => {
  const first = points('ada', 10, 10);
  expect(await enter([first], NOW)).toEqual([first]);
  expect(await waiting('ada')).toMatchObject({ until_ms: NOW + 15 * MINUTE, payload: null });
  expect(await enter([points('ada', 15, 5, { level: null })], NOW + MINUTE)).toEqual([]);
  expect(await enter([points('ada', 12, -3), points('bob', 1, 1)], NOW + 2 * MINUTE)).toMatchObject([
    { userId: 'bob' },
  ]);
  const row = await waiting('ada');
  expect(row).toMatchObject({ until_ms: NOW + 15 * MINUTE, added: 2, level: 'null', source: 'ada:12' });
  expect((row!['awards'] as string).split('\n').map((line) => JSON.parse(line).awarded)).toEqual([5, -3]);
  expect(JSON.parse(row!['payload'] as string).points.total).toBe(12);
});

test('merges several of one call into one', async () => {
  const [out, ...others] = await enter([points('cyd', 10, 10, { level: { key: 'a' } }), points('cyd', 30, 20)], NOW);
  expect(others).toEqual([]);
  expect(JSON.parse(out!.payload).points).toEqual({
    total: 30,
    added: 30,
    awards: [expect.objectContaining({ awarded: 10 }), expect.objectContaining({ awarded: 20 })],
    level: { key: 'a' },
  });
  const [place] = await enter([rank('cyd', 4, null), rank('cyd', 2, 4)], NOW);
  expect(JSON.parse(place!.payload).leaderboard).toEqual({
    rank: 2,
    value: 98,
    previousRank: null,
    previousValue: null,
  });
  expect(await waiting('cyd')).toMatchObject({ payload: null });
});

test('a window that is over opens again, unless something waits in it', async () => {
  const over = NOW + 15 * MINUTE;
  await enter([rank('dan', 3, 4)], NOW);
  expect(await enter([rank('dan', 2, 3)], over)).toHaveLength(1);
  expect(await waiting('dan')).toMatchObject({ until_ms: over + 15 * MINUTE, rank: 2, value: 98 });
  await enter([rank('dan', 1, 2)], over + MINUTE);
  expect(await enter([rank('dan', 5, 1)], over + 20 * MINUTE)).toEqual([]);
  expect(await waiting('dan')).toMatchObject({ until_ms: over + 15 * MINUTE, rank: 2, source: 'dan:1:5' });
});

test('a clock that was set back leaves no window open for ever', async () => {
  await enter([points('eve', 1, 1)], NOW + 100_000 * MINUTE);
  expect(await enter([points('eve', 2, 1)], NOW)).toHaveLength(1);
});

test('a moved leaderboard waits for the flush, and for a comparison of its places', async () => {
  const place = { boardNo: 3, runDay: 20_000, group: 'läng\n' };
  const moved: Notification = {
    type: 'leaderboard.changed',
    tenantNo: 7,
    userId: null,
    atMs: NOW,
    source: '3:20000:',
    about: { leaderboardId: BOARD },
    place,
    payload: JSON.stringify(place),
  };
  const boards = async (): Promise<unknown[]> =>
    (await database.pool.query('SELECT * FROM notification_boards WHERE tenant_no = 7')).rows;
  expect(await enter([moved, { ...moved, source: '3:20000:1' }], NOW)).toEqual([]);
  expect(await boards()).toMatchObject([{ board_no: 3, group_name: 'läng\n', compare_ms: NOW + 15 * MINUTE }]);
  await enter([moved], NOW + MINUTE);
  expect(await boards()).toMatchObject([{ compare_ms: NOW + 15 * MINUTE }]);
  const { rows } = await database.pool.query('SELECT * FROM notification_windows WHERE tenant_no = 7');
  expect(rows).toMatchObject([{ user_id: '', until_ms: NOW, payload: moved.payload }]);
});

test('passes other types through unchanged, in their place', async () => {
  const other: Notification = { ...points('fay', 1, 1), type: 'achievement.completed' };
  const mixed = [other, points('fay', 2, 1), { ...other, source: 'b' }];
  expect(await enter(mixed, NOW)).toEqual(mixed);
});
