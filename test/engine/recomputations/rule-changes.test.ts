import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { RECOMPUTED_KINDS } from '../../../src/domain/kinds.ts';
import { startLaurel } from '../../laurel.ts';
import { backdated, filled, make, plan } from './recompute-laurel.ts';
import { opened } from '../../stack/opened.ts';

// A recomputation must give the result of the current rules from the beginning: other users live through the same history
// under the new rules.

const RUNS = Math.min(Number(process.env['RUNS'] ?? 2), 40);
const DAYS = 4;
const USERS = 6;

interface Rules {
  orders: [threshold: number, points: number];
  gifts: [threshold: number, points: number];
  streak: [length: number, points: number];
  achieved: number;
  cap: [max: number, points: number, cost: number];
  buyer: number;
  giver: number;
  steady: number;
  boost: number;
  levels: [points: number, reward: number];
  proOnly: boolean;
}

/** Runs that begin with the days of a history. */
const runsOf = (days: number) => ({ start: '2031-01-02', runUnit: 'day' as const, runInterval: days });

const configurationOf = (rules: Rules): Configuration => ({
  attributes: [
    { key: 'kind', name: 'Kind', type: 'event' },
    { key: 'plan', name: 'Plan', type: 'user' },
  ],
  metrics: [
    { key: 'orders', name: 'Orders' },
    { key: 'visits', name: 'Visits' },
  ],
  achievements: [
    { key: 'buyer', name: 'B', trigger: 'metric', metricKey: 'orders', metricValue: rules.buyer, status: 'active' },
    {
      key: 'giver',
      name: 'G',
      trigger: 'metric',
      metricKey: 'orders',
      metricValue: rules.giver,
      eventAttributes: [{ key: 'kind', value: 'gift' }],
      status: 'active',
    },
    { key: 'steady', name: 'S', trigger: 'streak', streakLength: rules.steady, status: 'active' },
    { key: 'both', name: 'GS', trigger: 'achievement', achievementKeys: ['giver', 'steady'], status: 'active' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        {
          type: 'metric',
          metricKey: 'orders',
          metricThreshold: rules.orders[0],
          points: rules.orders[1],
          ...(rules.proOnly && { userAttributes: [{ key: 'plan', value: 'pro' }] }),
          status: 'active',
        },
        {
          type: 'metric',
          metricKey: 'orders',
          metricThreshold: rules.gifts[0],
          points: rules.gifts[1],
          eventAttributes: [{ key: 'kind', value: 'gift' }],
          status: 'active',
        },
        { type: 'streak', streakLength: rules.streak[0], points: rules.streak[1], status: 'active' },
        { type: 'achievement', achievementKey: 'both', points: rules.achieved, status: 'active' },
        { type: 'achievement', achievementKey: 'buyer', points: rules.achieved + 1, status: 'active' },
      ],
      levels: [1, 2, 5].map((times) => ({ key: `level-${times}`, name: 'L', points: times * rules.levels[0] })),
      boosts: [{ name: 'Boost', start: '2020-01-01', multiplier: rules.boost, rounding: 'down' }],
    },
    {
      key: 'gems',
      name: 'Gems',
      levels: [{ key: 'rich', name: 'Rich', points: 10 }],
      triggers: [
        { type: 'achievement', pointsSystemKey: 'xp', points: rules.levels[1], status: 'active' },
        { type: 'achievement', pointsSystemKey: 'gems', levelKey: 'rich', points: 7, status: 'active' },
      ],
    },
    {
      key: 'energy',
      name: 'Energy',
      maxPoints: rules.cap[0],
      triggers: [
        { type: 'metric', metricKey: 'visits', metricThreshold: 1, points: rules.cap[1], status: 'active' },
        { type: 'metric', metricKey: 'orders', metricThreshold: 3, points: -rules.cap[2], status: 'active' },
        { type: 'user_creation', points: 4, status: 'active' },
      ],
    },
  ],
  streaks: { enabled: true, frequency: 'daily' },
  leaderboards: [
    { key: 'days', name: 'D', rankBy: 'points', pointsSystemKey: 'energy', ...runsOf(1), status: 'active' },
    {
      key: 'terms',
      name: 'T',
      rankBy: 'points',
      pointsSystemKey: 'xp',
      breakdownAttributes: ['plan'],
      ...runsOf(DAYS),
      status: 'active',
    },
    { key: 'ever', name: 'E', rankBy: 'points', pointsSystemKey: 'energy', start: '2020-01-01', status: 'active' },
    { key: 'steady', name: 'S', rankBy: 'streak', start: '2020-01-01', status: 'active' },
  ],
});

const some = (max: number) => fc.integer({ min: 1, max });
const RULES: fc.Arbitrary<Rules> = fc.record({
  orders: fc.tuple(some(4), some(9)),
  gifts: fc.tuple(some(3), some(9)),
  streak: fc.tuple(some(3), some(9)),
  achieved: some(50),
  cap: fc.tuple(fc.integer({ min: 5, max: 15 }), some(5), some(5)),
  buyer: some(12),
  giver: some(8),
  steady: some(DAYS),
  boost: fc.constantFrom(1.5, 2, 1.1),
  levels: fc.tuple(some(20), some(6)),
  proOnly: fc.boolean(),
});
const EVENT = fc.record({
  user: fc.integer({ min: 0, max: USERS - 1 }),
  metric: fc.constantFrom('orders', 'visits'),
  value: fc.constantFrom(1, 2, 3, -1, 0.5),
  isGift: fc.boolean(),
});
const HISTORY = fc.array(fc.array(EVENT, { maxLength: 14 }), { minLength: DAYS, maxLength: DAYS });
type History = typeof HISTORY extends fc.Arbitrary<infer T> ? T : never;

let nowMs = Date.parse('2031-01-01T10:00:00Z');
let users = 0;
const laurel = opened(() => startLaurel({ testClock: true, workers: true }));

async function configure(rules: Rules): Promise<void> {
  const { status, body } = await laurel.admin.put('/v1/configuration', configurationOf(rules));
  expect({ status, body }).toMatchObject({ status: 200 });
  nowMs += 10_000;
  await laurel.admin.put('/v1/clock', { now: new Date(nowMs).toISOString() });
  await backdated(laurel);
  await filled(laurel);
}

async function live(history: History): Promise<string[]> {
  const first = (users += USERS);
  const idOf = (user: number): string => `u${first + user}`;
  for (const day of history) {
    nowMs = (Math.floor(nowMs / 86_400_000) + 1) * 86_400_000 + 36_000_000;
    await laurel.admin.put('/v1/clock', { now: new Date(nowMs).toISOString() });
    for (const { user, metric, value, isGift } of day) {
      const attributes = { kind: isGift ? 'gift' : 'own' };
      const sent = {
        user: { id: idOf(user), attributes: { plan: user % 2 === 0 ? 'pro' : 'free' } },
        value,
        attributes,
      };
      expect((await laurel.app.post(`/v1/metrics/${metric}/event`, sent)).status).toBe(201);
    }
  }
  const there = new Set(history.flat().map(({ user }) => user));
  return [...there].toSorted((a, b) => a - b).map(idOf);
}

interface Seen {
  xp: number;
  energy: number;
  gems: number;
  completed: string[];
  boards: (number | null)[];
}
/** A composite of all of these: some may be kept from before, and others be new. */
const withComposite = (completed: string[]): string[] => {
  const all = new Set(completed);
  if (all.has('giver') && all.has('steady')) all.add('both');
  return [...all].toSorted();
};

const BOARDS = ['days', 'terms', 'ever', 'steady'];
const seen = (ids: string[]): Promise<Seen[]> =>
  Promise.all(
    ids.map(async (id) => {
      const points = async (key: string): Promise<number> =>
        (await laurel.app.get(`/v1/users/${id}/points/${key}`)).body.total;
      const { body } = await laurel.app.get(`/v1/users/${id}/achievements`);
      const completed = (body as { key: string }[]).map(({ key }) => key).toSorted();
      const score = async (board: string): Promise<number | null> =>
        (await laurel.app.get(`/v1/users/${id}/leaderboards/${board}`)).body.value;
      const yesterday = new Date(nowMs - 86_400_000).toISOString().slice(0, 10);
      const boards = await Promise.all([...BOARDS, `days?run=${yesterday}`].map(score));
      const [xp, energy, gems] = [await points('xp'), await points('energy'), await points('gems')];
      return { xp, energy, gems, completed, boards };
    }),
  );

test('a recomputation gives what the history would have given by the current rules; reverting restores everything', async () => {
  await fc.assert(
    fc.asyncProperty(RULES, RULES, HISTORY, async (before, after, history) => {
      await configure(before);
      const ids = await live(history);
      if (ids.length === 0) return;
      const cohort = { what: [...RECOMPUTED_KINDS] };
      // Living through the history under these rules gives the same.
      const same = await plan(laurel, { ...cohort, mayRevoke: true });
      expect(same.figures).toMatchObject({ failed: 0 });
      const mine = [...same.samples.gaining, ...same.samples.losing].filter(({ userId }) => ids.includes(userId));
      expect(mine).toEqual([]);

      await configure(after);
      const had = await seen(ids);
      const keeping = await plan(laurel, cohort);
      await make(laurel, keeping.id, 'apply');
      const kept = await seen(ids);
      await make(laurel, keeping.id, 'revert');
      expect(await seen(ids)).toEqual(had);
      const strict = await plan(laurel, { ...cohort, mayRevoke: true });
      await make(laurel, strict.id, 'apply');
      const strictly = await seen(ids);
      await make(laurel, strict.id, 'revert');
      expect(await seen(ids)).toEqual(had);

      const wanted = await seen(await live(history));
      expect(strictly).toEqual(wanted);
      for (const [n, now] of kept.entries()) {
        expect(now.completed).toEqual(withComposite([...had[n]!.completed, ...wanted[n]!.completed]));
        expect(now.energy).toBe(Math.max(had[n]!.energy, wanted[n]!.energy));
        // Achievements that stay pay, too, and may lead to further levels.
        expect(now.xp).toBeGreaterThanOrEqual(Math.max(had[n]!.xp, wanted[n]!.xp));
        expect(now.gems).toBeGreaterThanOrEqual(Math.max(had[n]!.gems, wanted[n]!.gems));
        for (const [board, score] of now.boards.entries())
          expect(score ?? 0).toBeGreaterThanOrEqual(had[n]!.boards[board] ?? 0);
      }
      for (const id of [...ids, ...ids.map((each) => `u${Number(each.slice(1)) + USERS}`)])
        await laurel.admin.send('DELETE', `/v1/users/${id}`);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
}, 300_000);
