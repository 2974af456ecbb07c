import { expect, test } from 'vitest';
import { testStack } from '../../stack/stack.ts';
import { withEngineOn, type TestEngine } from './engine.ts';
import { opened } from '../../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));

const withEngine = withEngineOn(() => stack.redisUrl);

/** `[previousRank, rank, threshold]` of the user's event on a leaderboard; undefined if the answer does not contain it. */
async function ranks(laurel: TestEngine, user: Parameters<TestEngine['event']>[1], value: number, board = 'board') {
  const entry = (await laurel.event('m', user, value)).leaderboards[board];
  return entry && [entry.previousRank, entry.rank, entry.threshold];
}

test('equal values share a rank, and scores of 0 or less are not listed', () =>
  withEngine(
    (b) => b.leaderboard('board', 'metric', { metricId: b.metric('m').id, maxParticipants: null }),
    async (laurel) => {
      expect(await ranks(laurel, 'a', 10)).toEqual([null, 1, 0]);
      expect(await ranks(laurel, 'b', 5)).toEqual([null, 2, 0]);
      expect(await ranks(laurel, 'c', 5)).toEqual([null, 2, 0]);
      expect(await ranks(laurel, 'd', 1)).toEqual([null, 4, 0]);
      expect(await ranks(laurel, 'a', -10)).toEqual([1, null, 0]);
      expect(await ranks(laurel, 'a', -1)).toEqual([null, null, 0]);
      expect(await ranks(laurel, 'b', 0)).toBeUndefined();
      expect(await ranks(laurel, 'a', 6.5)).toEqual([null, 1, 0]);
    },
  ));

test('maxParticipants: lists by rank; the threshold is the lowest score on a full leaderboard', () =>
  withEngine(
    (b) => b.leaderboard('board', 'metric', { metricId: b.metric('m').id, maxParticipants: 2 }),
    async (laurel) => {
      expect(await ranks(laurel, 'a', 10)).toEqual([null, 1, 0]);
      expect(await ranks(laurel, 'b', 5)).toEqual([null, 2, 5]);
      expect(await ranks(laurel, 'c', 2.5)).toEqual([null, null, 5]);
      expect(await ranks(laurel, 'c', 3)).toEqual([null, 2, 5.5]);
      expect(await ranks(laurel, 'b', 1)).toEqual([null, 1 + 1, 6]);
      expect(await ranks(laurel, 'c', 0.5)).toEqual([null, 2, 6]);
    },
  ));

test('a repeating leaderboard scores what was earned inside the run of the local date', () =>
  withEngine(
    (b) =>
      b.leaderboard('board', 'metric', {
        metricId: b.metric('m').id,
        start: '2026-01-31',
        runUnit: 'month',
        runInterval: 1,
      }),
    async (laurel) => {
      laurel.clock.set(Date.parse('2026-02-27T23:30:00Z'));
      await laurel.event('m', 'u', 5);
      const inBerlin = await laurel.event('m', { id: 'berlin', tz: 'Europe/Berlin' }, 7);
      expect(inBerlin.leaderboards['board']).toMatchObject({
        rank: 1,
        start: '2026-02-28',
        end: '2026-03-30',
      });
      const inUtc = await laurel.event('m', 'u', 1);
      expect(inUtc.leaderboards['board']).toMatchObject({
        previousRank: 1,
        rank: 1,
        start: '2026-01-31',
        end: '2026-02-27',
      });
      laurel.clock.set(Date.parse('2026-02-28T00:00:00Z'));
      expect(await ranks(laurel, 'u', 7)).toEqual([null, 1, 0]);
      expect((await laurel.users.state(0, 'u')).scores).toMatchObject([
        { board: 2, group: '', whole: 7 },
        { board: 2, group: '', whole: 6 },
      ]);
    },
  ));

test('counts nothing outside its dates or its time of day', () =>
  withEngine(
    (b) => {
      const metricId = b.metric('m').id;
      b.leaderboard('later', 'metric', { metricId, status: 'scheduled', start: '2026-11-19' });
      b.leaderboard('ended', 'metric', { metricId, end: '2026-11-17' });
      b.leaderboard('finished', 'metric', { metricId, status: 'finished' });
      b.leaderboard('inactive', 'metric', { metricId, status: 'inactive' });
      b.leaderboard('morning', 'metric', { metricId, startTime: '06:00', endTime: '12:00' });
      b.leaderboard('night', 'metric', { metricId, startTime: '22:00', endTime: '12:00:01' });
      b.leaderboard('noon', 'metric', { metricId, startTime: '12:00' });
    },
    async (laurel) => {
      expect(Object.keys((await laurel.event('m', 'u', 1)).leaderboards)).toEqual(['night', 'noon']);
    },
  ));

test('points leaderboards follow awards in both directions, streak leaderboards the length', () =>
  withEngine(
    (b) => {
      const metricId = b.metric('m').id;
      const xp = b.system('xp');
      b.trigger(xp, 'metric', { points: 10, metricId, metricThreshold: 1 });
      b.trigger(xp, 'metric', { points: -4, metricId, metricThreshold: 2 });
      b.leaderboard('xp', 'points', { pointsSystemId: xp.id });
      b.leaderboard('streak', 'streak', {});
    },
    async (laurel) => {
      const first = await laurel.event('m', 'u', 1);
      expect(Object.keys(first.leaderboards)).toEqual(['xp', 'streak']);
      expect(Object.keys((await laurel.event('m', 'u', 0.5)).leaderboards)).toEqual([]);
      await laurel.event('m', 'u', 0.5);
      expect(await laurel.redis.zscore(`{s0}:0:b:5:${Date.UTC(2026, 0, 1) / 86_400_000}:`, 'u')).toBe('16');
      laurel.clock.set(laurel.clock.now() + 2 * 86_400_000);
      const broken = await laurel.event('m', 'u', -1);
      expect(broken.leaderboards['streak']).toMatchObject({ previousRank: 1, rank: null });
    },
  ));

test('a breakdown splits a leaderboard into groups; a changed value moves the score', () =>
  withEngine(
    (b) => {
      const breakdownAttributes = [b.attribute('land', 'user').id, b.attribute('plan', 'user').id];
      b.leaderboard('board', 'metric', { metricId: b.metric('m').id, breakdownAttributes });
    },
    async (laurel) => {
      const user = (id: string, land: string, plan: string) => ({ id, attributes: { land, plan } });
      expect(await ranks(laurel, 'none', 5)).toBeUndefined();
      expect(await ranks(laurel, { id: 'none', attributes: { land: 'de' } }, 5)).toBeUndefined();
      expect(await ranks(laurel, user('a', 'de', 'pro'), 5)).toEqual([null, 1, 0]);
      expect(await ranks(laurel, user('b', 'de', 'x,1:y'), 9)).toEqual([null, 1, 0]);
      const moved = (await laurel.event('m', user('b', 'de', 'pro'), 1)).leaderboards['board'];
      expect(moved).toMatchObject({
        previousRank: null,
        rank: 1,
        breakdownAttribute: 'land',
        breakdownAttributes: ['land', 'plan'],
        breakdownAttributeValue: 'de',
        breakdownAttributeValues: [
          { key: 'land', value: 'de' },
          { key: 'plan', value: 'pro' },
        ],
      });
      expect(await ranks(laurel, 'a', 5)).toEqual([2, 1, 0]);
      const boards = await laurel.redis.keys('{s0}:0:b:*');
      expect(boards).toHaveLength(1);
    },
  ));

test('a changed value moves the score at the next event, even outside the time of day', () =>
  withEngine(
    (b) => {
      const breakdownAttributes = [b.attribute('plan', 'user').id];
      b.leaderboard('board', 'metric', { metricId: b.metric('m').id, breakdownAttributes, endTime: '12:00:01' });
    },
    async (laurel) => {
      await laurel.event('m', 'u', 1);
      laurel.clock.set(laurel.clock.now() + 3_600_000);
      await laurel.event('m', { id: 'u', attributes: { plan: 'pro' } }, 1);
      expect((await laurel.users.state(0, 'u')).scores).toMatchObject([{ group: '3:pro', whole: 1, micros: 0 }]);
    },
  ));

test('a score of the previous run moves as well when a traveller is back on its days', () =>
  withEngine(
    (b) => {
      const breakdownAttributes = [b.attribute('plan', 'user').id];
      const board = { start: '2026-01-01', runUnit: 'day' as const, runInterval: 1 };
      b.leaderboard('board', 'metric', { metricId: b.metric('m').id, breakdownAttributes, ...board });
    },
    async (laurel) => {
      laurel.clock.set(Date.parse('2026-02-03T03:00:00Z'));
      await laurel.event('m', { id: 'u', tz: 'America/New_York' }, 1);
      laurel.clock.set(Date.parse('2026-02-03T06:00:00Z'));
      await laurel.event('m', { id: 'u', attributes: { plan: 'pro' } }, 2);
      await laurel.event('m', { id: 'u', tz: 'Pacific/Niue' }, 0);
      expect((await laurel.users.state(0, 'u')).scores).toMatchObject([
        { group: '3:pro', whole: 2 },
        { group: '3:pro', whole: 1 },
      ]);
    },
  ));
