import { describe, expect, test } from 'vitest';
import type { EventResponse } from '../../../src/domain/event.ts';
import { testStack } from '../../stack/stack.ts';
import { withEngineOn } from './engine.ts';
import { opened } from '../../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));

const withEngine = withEngineOn(() => stack.redisUrl);

const awarded = (answer: EventResponse): number[] => (answer.points['xp']?.awards ?? []).map((award) => award.awarded!);

describe('metric triggers', () => {
  test('pay each newly crossed multiple in one award; going down and up again earns nothing twice', () =>
    withEngine(
      (b) =>
        b.trigger(b.system('xp'), 'metric', {
          points: 5,
          metricId: b.metric('m').id,
          metricThreshold: 10,
        }),
      async (laurel) => {
        expect(awarded(await laurel.event('m', 'u', 9.9))).toEqual([]);
        expect(awarded(await laurel.event('m', 'u', 0.1))).toEqual([5]);
        expect(awarded(await laurel.event('m', 'u', 35))).toEqual([15]);
        expect(awarded(await laurel.event('m', 'u', -30))).toEqual([]);
        expect(awarded(await laurel.event('m', 'u', 34))).toEqual([]);
        expect(awarded(await laurel.event('m', 'u', 1))).toEqual([5]);
      },
    ));

  test('with event-attribute conditions keep their own count and peak', () =>
    withEngine(
      (b) => {
        const deck = b.attribute('deck', 'event');
        const eventAttributes = [{ attributeId: deck.id, attributeValue: 'verbs' }];
        b.trigger(b.system('xp'), 'metric', {
          points: 5,
          metricId: b.metric('m').id,
          metricThreshold: 2,
          eventAttributes,
        });
      },
      async (laurel) => {
        expect(awarded(await laurel.event('m', 'u', 9))).toEqual([]);
        expect(awarded(await laurel.event('m', 'u', 1, { attributes: { deck: 'verbs' } }))).toEqual([]);
        expect(awarded(await laurel.event('m', 'u', 3, { attributes: { deck: 'verbs' } }))).toEqual([10]);
        expect(awarded(await laurel.event('m', 'u', -4, { attributes: { deck: 'verbs' } }))).toEqual([]);
        expect(awarded(await laurel.event('m', 'u', 6, { attributes: { deck: 'verbs' } }))).toEqual([5]);
      },
    ));

  test('does not record an award of 0; cap and floor apply as triggers fire, oldest first', () =>
    withEngine(
      (b) => {
        const metricId = b.metric('m').id;
        const xp = b.system('xp', { maxPoints: 12 });
        b.trigger(xp, 'metric', { points: 10, metricId, metricThreshold: 1 });
        b.trigger(xp, 'metric', { points: -4, metricId, metricThreshold: 1 });
        b.trigger(xp, 'metric', { points: 9, metricId, metricThreshold: 1 });
      },
      async (laurel) => {
        const first = await laurel.event('m', 'u', 1);
        expect(awarded(first)).toEqual([10, -4, 6]);
        expect(first.points['xp']).toMatchObject({ total: 12, added: 12 });
        expect(awarded(await laurel.event('m', 'u', 1))).toEqual([-4, 4]);
        expect(awarded(await laurel.event('m', 'u', 10))).toEqual([-12, 12]);
      },
    ));

  test('out of points refuses the whole event and changes nothing', () =>
    withEngine(
      (b) => {
        const metricId = b.metric('m').id;
        const xp = b.system('xp');
        b.trigger(xp, 'user_creation', { points: 7 });
        b.trigger(xp, 'metric', {
          points: -5,
          metricId,
          metricThreshold: 1,
          blockIfOutOfPoints: true,
        });
        b.leaderboard('all', 'metric', { metricId });
      },
      async (laurel) => {
        expect(awarded(await laurel.event('m', 'u', 1))).toEqual([7, -5]);
        const before = await laurel.users.state(0, 'u');
        await expect(laurel.event('m', { id: 'u', email: 'x@y.z' }, 1, { key: 'k' })).rejects.toMatchObject({
          status: 422,
        });
        expect(await laurel.users.state(0, 'u')).toEqual(before);
        await expect(laurel.event('m', 'new', 2)).rejects.toMatchObject({ status: 422 });
        await expect(laurel.users.state(0, 'new')).rejects.toMatchObject({ status: 404 });
        expect(await laurel.redis.hget('{s0}:0:n', 'users')).toBe('1');
        expect((await laurel.event('m', 'u', 0.5, { key: 'k' })).status).toBe(201);
        const parallel = await Promise.allSettled(Array.from({ length: 20 }, () => laurel.event('m', 'p', 1)));
        expect(parallel.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect((await laurel.users.state(0, 'p')).totals).toEqual(new Map([[1, { whole: 1, micros: 0, peak: null }]]));
      },
    ));
});

test.each(['streak', 'achievement'] as const)('what an event earns does not pay for its blocking %s trigger', (type) =>
  withEngine(
    (b) => {
      const metricId = b.metric('m').id;
      const { id: achievementId } = b.achievement('metric', { metricId, metricValue: 2 });
      const xp = b.system('xp');
      b.trigger(xp, 'metric', { points: 10, metricId, metricThreshold: 1 });
      const fires = type === 'streak' ? { streakLength: 2 } : { achievementId };
      b.trigger(xp, type, { points: -15, blockIfOutOfPoints: true, ...fires });
    },
    async (laurel) => {
      expect(awarded(await laurel.event('m', 'u', 1))).toEqual([10]);
      laurel.clock.set(laurel.clock.now() + 86_400_000);
      await expect(laurel.event('m', 'u', 1)).rejects.toMatchObject({ status: 422 });
      expect((await laurel.users.state(0, 'u')).points).toEqual(new Map([[3, 10]]));
    },
  ),
);

test('triggers fire in the order creation, metric, streak, achievement', () =>
  withEngine(
    (b) => {
      const metricId = b.metric('m').id;
      const achievement = b.achievement('metric', { metricId, metricValue: 1 });
      const xp = b.system('xp');
      b.trigger(xp, 'achievement', { points: 1, achievementId: achievement.id });
      b.trigger(xp, 'streak', { points: 2, streakLength: 1 });
      b.trigger(xp, 'metric', { points: 3, metricId, metricThreshold: 1 });
      b.trigger(xp, 'user_creation', { points: 4 });
    },
    async (laurel) => {
      expect(awarded(await laurel.event('m', 'u', 1))).toEqual([4, 3, 2, 1]);
      laurel.clock.set(laurel.clock.now() + 86_400_000);
      expect(awarded(await laurel.event('m', 'u', 0.5))).toEqual([2]);
    },
  ));

test('a streak trigger fires at each multiple of its length', () =>
  withEngine(
    (b) => {
      b.metric('m');
      b.trigger(b.system('xp'), 'streak', { points: 2, streakLength: 2 });
    },
    async (laurel) => {
      const all = [];
      for (let day = 0; day < 5; day += 1) {
        all.push(awarded(await laurel.event('m', 'u', 1)));
        laurel.clock.set(laurel.clock.now() + 86_400_000);
      }
      expect(all).toEqual([[], [2], [], [2], []]);
    },
  ));

describe('boosts', () => {
  test.each([
    ['one', [{ multiplier: 1.5, rounding: 'down' }], 10, 15],
    ['a product that doubles make too large', [{ multiplier: 1.1, rounding: 'up' }], 10, 11],
    [
      'a product that doubles make too small',
      [
        { multiplier: 0.1, rounding: 'down' },
        { multiplier: 3, rounding: 'up' },
      ],
      10,
      3,
    ],
    [
      'rounded once, down beats nearest',
      [
        { multiplier: 1.5, rounding: 'nearest' },
        { multiplier: 1.5, rounding: 'down' },
      ],
      3,
      6,
    ],
    [
      'nearest beats up',
      [
        { multiplier: 1.3, rounding: 'nearest' },
        { multiplier: 1, rounding: 'up' },
      ],
      1,
      1,
    ],
    ['up', [{ multiplier: 1.1, rounding: 'up' }], 1, 2],
    ['whole, though not in doubles', [{ multiplier: 1.1, rounding: 'up' }], 10, 11],
    ['whole, though not in doubles, large', [{ multiplier: 1.1, rounding: 'up' }], 12_345_678_900, 13_580_246_790],
    [
      'three multipliers',
      [{ multiplier: 1.1 }, { multiplier: 1.1, rounding: 'up' }, { multiplier: 1.1, rounding: 'up' }],
      1_000_000_000,
      1_331_000_000,
    ],
    ['not yet begun', [{ multiplier: 2, start: '2026-11-19' }], 1, 1],
    ['last day inside', [{ multiplier: 2, start: '2026-11-01', end: '2026-11-18' }], 1, 2],
    ['over', [{ multiplier: 2, start: '2026-11-01', end: '2026-11-17' }], 1, 1],
    ['for another user', [{ multiplier: 2, userId: 'other' }], 1, 1],
    ['for this user', [{ multiplier: 3, userId: 'u' }, { multiplier: 2 }], 1, 6],
    ['negative awards stay', [{ multiplier: 2 }], -1, -1],
  ] as const)('%s', (_, boosts, points, expected) =>
    withEngine(
      (b) => {
        const metricId = b.metric('m').id;
        const xp = b.system('xp');
        b.trigger(xp, 'metric', { points, metricId, metricThreshold: 1 });
        if (points < 0) b.trigger(xp, 'user_creation', { points: 5 });
        for (const boost of boosts) b.boost(xp, boost);
      },
      async (laurel) => expect(awarded(await laurel.event('m', 'u', 1)).at(-1)).toBe(expected),
    ),
  );

  test("the window is in the user's local date", () =>
    withEngine(
      (b) => {
        const xp = b.system('xp');
        b.trigger(xp, 'metric', { points: 1, metricId: b.metric('m').id, metricThreshold: 1 });
        b.boost(xp, { start: '2026-11-19', multiplier: 2 });
      },
      async (laurel) => {
        expect(awarded(await laurel.event('m', { id: 'east', tz: 'Pacific/Kiritimati' }, 1))).toEqual([2]);
        expect(awarded(await laurel.event('m', { id: 'west', tz: 'America/Los_Angeles' }, 1))).toEqual([1]);
      },
    ));
});

test('reports the level only if the event changed it, null below the first', () =>
  withEngine(
    (b) => {
      const metricId = b.metric('m').id;
      const xp = b.system('xp');
      b.level(xp, 'two', 20);
      b.level(xp, 'one', 10);
      b.trigger(xp, 'metric', { points: 10, metricId, metricThreshold: 10 });
      b.trigger(xp, 'metric', { points: -25, metricId, metricThreshold: 25 });
    },
    async (laurel) => {
      expect((await laurel.event('m', 'u', 1)).points).toEqual({});
      expect((await laurel.event('m', 'u', 9)).points['xp']!.level).toMatchObject({ key: 'one' });
      expect((await laurel.event('m', 'u', 10)).points['xp']!.level).toMatchObject({ key: 'two' });
      expect((await laurel.event('m', 'u', 5)).points['xp']!.level).toBeNull();
      const again = await laurel.event('m', 'u', 5);
      expect(again.points['xp']).toMatchObject({ total: 10, level: { key: 'one' } });
    },
  ));
