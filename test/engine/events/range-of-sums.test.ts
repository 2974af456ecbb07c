import { expect, test } from 'vitest';
import type { Catalog } from '../../../src/domain/catalog.ts';
import { AppError } from '../../../src/errors.ts';
import { testStack } from '../../stack/stack.ts';
import { withEngineOn, type TestEngine } from './engine.ts';
import { changeState } from '../../stack/change-state.ts';
import { decimalNumber } from '../../../src/domain/decimal.ts';
import { opened } from '../../stack/opened.ts';

const MOST = 1e12;
const LAST = 1e15 - 1;
/** How many of the largest values fit below the bound. */
const FIT = 999;

const stack = opened(() => testStack());

const withEngine = withEngineOn(() => stack.redisUrl);

type Sent = Parameters<TestEngine['event']>;

/** The answer of an event, or the text of the 422 that refused it. */
const outcome = async (laurel: TestEngine, ...sent: Sent): Promise<string | number> => {
  try {
    return (await laurel.event(...sent)).total;
  } catch (error) {
    if (!(error instanceof AppError) || error.status !== 422) throw error;
    return error.message;
  }
};

const many = (laurel: TestEngine, amount: number, ...sent: Sent): Promise<(string | number)[]> =>
  Promise.all(Array.from({ length: amount }, () => outcome(laurel, ...sent)));

const REFUSED = /^Metric 'flips': .* would reach 1000000000000000 or -1000000000000000; it must stay between them\.$/;

test.each([1, -1])('a total stays in its range, and other totals continue beside it (sign %i)', async (sign) => {
  await withEngine(
    (builder) => void builder.metric('flips'),
    async (laurel) => {
      const [greedy, others] = await Promise.all([
        many(laurel, FIT + 60, 'flips', 'greedy', sign * MOST),
        many(laurel, FIT + 60, 'flips', 'other', 1),
      ]);
      const refused = greedy.filter((answer) => typeof answer === 'string');
      expect(refused).toHaveLength(60);
      for (const text of refused) expect(text).toMatch(REFUSED);
      expect(others.filter((answer) => typeof answer === 'number')).toHaveLength(FIT + 60);
      expect(await outcome(laurel, 'flips', 'greedy', sign * (MOST - 0.5))).toBe(sign * (LAST + 0.5));
      expect(await outcome(laurel, 'flips', 'greedy', sign * 0.5)).toMatch(REFUSED);
      expect(await outcome(laurel, 'flips', 'greedy', sign * 0.25)).toBe(sign * (LAST + 0.75));
      expect(await outcome(laurel, 'flips', 'greedy', sign * -2)).toBe(sign * (LAST - 1.25));
    },
  );
});

test('applies nothing of a refused event, neither user nor key, and applies the others of the call', async () => {
  await withEngine(
    (builder) => {
      const flips = builder.metric('flips');
      builder.attribute('plan', 'user');
      builder.trigger(builder.system('xp'), 'metric', { metricId: flips.id, metricThreshold: 1e12, points: 1 });
      builder.leaderboard('all', 'metric', { metricId: flips.id });
    },
    async (laurel) => {
      await many(laurel, FIT - 1, 'flips', 'ada', MOST);
      const before = await laurel.redis.hgetall('{s0}:0:n');
      const changed = { id: 'ada', tz: 'Asia/Tokyo', attributes: { plan: 'pro' } };
      const answers = await Promise.all([
        outcome(laurel, 'flips', 'ada', 1),
        outcome(laurel, 'flips', 'ada', MOST),
        outcome(laurel, 'flips', changed, MOST, { key: 'k' }),
        outcome(laurel, 'flips', 'bob', 3),
        outcome(laurel, 'flips', 'ada', 4),
        outcome(laurel, 'flips', changed, MOST),
        outcome(laurel, 'flips', 'ada', 0),
      ]);
      const all = FIT * MOST;
      expect(answers).toEqual([
        all - MOST + 1,
        all + 1,
        expect.stringMatching(REFUSED),
        3,
        all + 5,
        expect.stringMatching(REFUSED),
        all + 5,
      ]);
      const state = await laurel.users.state(0, 'ada');
      expect([state.zone, state.attributes.size]).toEqual([null, 0]);
      expect([...state.points.values()]).toEqual([FIT]);
      expect(decimalNumber(state.scores[0]!)).toBe(all + 5);
      expect(await laurel.redis.hgetall('{s0}:0:n')).toEqual({ ...before, users: '2' });
      expect(await outcome(laurel, 'flips', 'ada', 1, { key: 'k' })).toBe(all + 6);
    },
  );
});

test('the count of matching events of an achievement', async () => {
  await withEngine(
    (builder) => {
      const flips = builder.metric('flips');
      const deck = builder.attribute('deck', 'event');
      const eventAttributes = [{ attributeId: deck.id, attributeValue: 'verbs' }];
      builder.achievement('metric', { metricId: flips.id, metricValue: 5, eventAttributes });
    },
    async (laurel) => {
      const verbs = { attributes: { deck: 'verbs' } };
      for (let round = 0; round < 3; round += 1) {
        await many(laurel, FIT / 3, 'flips', 'ada', MOST, verbs);
        await many(laurel, FIT / 3, 'flips', 'ada', -MOST);
      }
      const refused = await outcome(laurel, 'flips', 'ada', MOST, verbs);
      expect(refused).toMatch(REFUSED);
      expect(refused).toContain('count of events');
      expect(await outcome(laurel, 'flips', 'ada', MOST)).toBe(MOST);
      expect([...(await laurel.users.state(0, 'ada')).counts.values()].map(decimalNumber)).toEqual([FIT * MOST]);
    },
  );
});

test('the sum of a streak period, which counts while streaks are on; the next period starts over', async () => {
  let on: Catalog;
  await withEngine(
    (builder) => {
      const flips = builder.metric('flips');
      builder.streaks({ frequency: 'daily', metrics: [{ metricId: flips.id, threshold: 5 }] });
      on = builder.catalog;
    },
    async (laurel) => {
      const off = { ...on, streaks: { ...on.streaks, enabled: false } };
      await many(laurel, FIT, 'flips', 'ada', MOST);
      laurel.catalog = off;
      await many(laurel, FIT, 'flips', 'ada', -MOST);
      laurel.catalog = on;
      const refused = await outcome(laurel, 'flips', 'ada', MOST);
      expect(refused).toMatch(REFUSED);
      expect(refused).toContain('streak period');
      // Another day, another week, another month.
      laurel.clock.set(laurel.clock.now() + 31 * 86_400_000);
      expect(await outcome(laurel, 'flips', 'ada', MOST)).toBe(MOST);
    },
  );
});

test('the score on a leaderboard that counts some hours of the day', async () => {
  await withEngine(
    (builder) => {
      const flips = builder.metric('flips');
      builder.leaderboard('mornings', 'metric', { metricId: flips.id, startTime: '00:00', endTime: '13:00' });
    },
    async (laurel) => {
      const morning = laurel.clock.now();
      await many(laurel, FIT, 'flips', 'ada', MOST);
      laurel.clock.set(morning + 2 * 3_600_000);
      await many(laurel, FIT, 'flips', 'ada', -MOST);
      laurel.clock.set(morning + 24 * 3_600_000);
      const refused = await outcome(laurel, 'flips', 'ada', MOST);
      expect(refused).toMatch(REFUSED);
      expect(refused).toContain("leaderboard 'mornings'");
      expect(await outcome(laurel, 'flips', 'ada', -5)).toBe(-5);
    },
  );
});

test('cuts off points, and scores of a points leaderboard that counts some hours of the day', async () => {
  await withEngine(
    (builder) => {
      const [flips, spent] = [builder.metric('flips'), builder.metric('spent')];
      const xp = builder.system('xp');
      builder.trigger(xp, 'metric', { points: 1e12, metricId: flips.id, metricThreshold: 1 });
      builder.trigger(xp, 'metric', { points: -1e12, metricId: spent.id, metricThreshold: 1 });
      builder.leaderboard('mornings', 'points', { pointsSystemId: xp.id, startTime: '00:00', endTime: '13:00' });
    },
    async (laurel) => {
      const morning = laurel.clock.now();
      for (let day = 0; day < 3; day += 1) {
        laurel.clock.set(morning + day * 86_400_000);
        const earned = await laurel.event('flips', 'ada', 2e11);
        expect(earned.points['xp']).toMatchObject({ total: LAST, added: LAST });
        laurel.clock.set(morning + day * 86_400_000 + 2 * 3_600_000);
        expect((await laurel.event('spent', 'ada', 2e11)).points['xp']).toMatchObject({ total: 0, added: -LAST });
      }
      expect(decimalNumber((await laurel.users.state(0, 'ada')).scores[0]!)).toBe(LAST);
    },
  );
});

test('a total that is already out of range can return, and goes no further', async () => {
  await withEngine(
    (builder) => void builder.metric('flips'),
    async (laurel) => {
      await laurel.event('flips', 'ada', 1);
      await changeState(laurel.redis, '{s0}:0:u:ada', ({ totals }) => {
        totals.set(1, { whole: 3e15, micros: 500_000, peak: null });
      });
      expect(await outcome(laurel, 'flips', 'ada', 0.000001)).toMatch(REFUSED);
      expect(await outcome(laurel, 'flips', 'ada', 0)).toBe(3e15 + 0.5);
      expect(await outcome(laurel, 'flips', 'ada', -0.5)).toBe(3e15);
      expect(await outcome(laurel, 'flips', 'ada', -MOST)).toBe(3e15 - MOST);
    },
  );
});
