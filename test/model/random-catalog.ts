import fc from 'fast-check';
import type { Repeat } from '../../src/domain/repeat.ts';

/** Catalogs with a bit of everything, small enough that random histories reach their contents. */

export const PLANS = ['free', 'pro'] as const;
export const DECKS = ['nouns', 'verbs'] as const;
/** Values of the attribute with secondary scores; not all are numbers. */
export const MOVES = ['3', '12', '12.0', '-1.5', 'many'] as const;
/** What events send for their entries. */
export const HATS = ['red', 'blue'] as const;
export const METRICS = ['flips', 'minutes'] as const;

const metric = fc.constantFrom(0, 1);
/** A value in this percentage of the cases, else null. */
export const maybe = <T>(some: fc.Arbitrary<T>, percent = 50): fc.Arbitrary<T | null> =>
  fc.oneof(
    { withCrossShrink: true },
    { weight: 100 - percent, arbitrary: fc.constant(null) },
    { weight: percent, arbitrary: some },
  );
const plan = maybe(fc.constantFrom(...PLANS), 25);
const deck = maybe(fc.constantFrom(...DECKS), 33);
const status = fc.constantFrom('active', 'active', 'active', 'inactive');
/** Near the days on which histories happen. */
const someDay = fc.integer({ min: -40, max: 40 });

const achievement = fc.record({
  trigger: fc.constantFrom('metric', 'metric', 'streak', 'api', 'achievement', 'anniversary', 'anniversary'),
  metric,
  amount: fc.constantFrom(0.1, 0.3, 1, 5, 10.5, 100),
  length: fc.integer({ min: 1, max: 4 }),
  requires: fc.uniqueArray(fc.nat(7), { maxLength: 2 }),
  parts: fc.uniqueArray(fc.nat(7), { minLength: 1, maxLength: 3 }),
  repeat: maybe(fc.constantFrom<Repeat>('daily', 'weekly', 'monthly', { days: 3 })),
  season: maybe(fc.tuple(maybe(fc.integer({ min: -10, max: 5 })), maybe(fc.integer({ min: 5, max: 40 }))), 25),
  plan,
  deck,
  status: fc.constantFrom('active', 'active', 'active', 'locked', 'inactive'),
});

const trigger = fc.record({
  type: fc.constantFrom(
    'metric',
    'metric',
    'metric',
    'streak',
    'achievement',
    'user_creation',
    'time',
    'level',
    'level',
  ),
  points: fc.constantFrom(1, 3, 5, 10, 100, -2, -5),
  metric,
  threshold: fc.constantFrom(1, 2, 5, 10),
  length: fc.integer({ min: 1, max: 3 }),
  every: fc.constantFrom(['hours', 7], ['hours', 25], ['days', 1], ['days', 3], ['days', 10]),
  achievement: fc.nat(7),
  /** Which system's levels count, and which of them: the first, or all. */
  watched: fc.tuple(fc.nat(1), fc.boolean()),
  blocks: fc.boolean(),
  plan,
  deck,
  status,
});

const boost = fc.record({
  multiplier: fc.constantFrom(1.5, 2, 1.1, 0.5, 0.333333, 3),
  rounding: fc.constantFrom('down', 'up', 'nearest'),
  from: someDay,
  days: maybe(fc.integer({ min: 0, max: 30 })),
  user: maybe(fc.constantFrom('a', 'b'), 25),
  plan,
});

const system = fc.record({
  maxPoints: maybe(fc.constantFrom(7, 50, 1000)),
  expiresAfterDays: maybe(fc.constantFrom(1, 2, 5, 20), 33),
  levels: fc.uniqueArray(fc.constantFrom(0, 1, 5, 10, 20, 100), { maxLength: 3 }),
  triggers: fc.array(trigger, { maxLength: 5 }),
  boosts: fc.array(boost, { maxLength: 3 }),
  /** Points of each new user, which can be spent. */
  welcome: maybe(fc.constantFrom(5, 20)),
});

const board = fc.record({
  by: fc.constantFrom('metric', 'points', 'streak'),
  aggregate: fc.constantFrom(null, null, 'max' as const, 'min' as const, 'last' as const),
  order: fc.constantFrom(null, null, 'ascending' as const),
  ties: fc.constantFrom(null, 'first' as const),
  secondary: fc.constantFrom(null, 'ascending' as const, 'descending' as const),
  of: metric,
  status,
  max: maybe(fc.integer({ min: 1, max: 3 })),
  from: fc.integer({ min: -400, max: 10 }),
  days: maybe(fc.integer({ min: 0, max: 800 })),
  hours: fc.constantFrom(null, ['06:00', '18:00'], ['22:00', '04:30:30'], [null, '12:00'], ['12:00', null]),
  split: fc.boolean(),
  keepsMetadata: fc.constantFrom(null, true),
  leagues: maybe(
    fc.record({
      tiers: fc.integer({ min: 2, max: 3 }),
      cohortUsers: fc.integer({ min: 1, max: 3 }),
      promoted: fc.nat(2),
      demoted: fc.nat(2),
      inactive: fc.constantFrom('stay' as const, 'fall' as const),
    }),
  ),
  run: fc.constantFrom(null, ['day', 1], ['day', 7], ['month', 1], ['month', 3], ['year', 1]),
});

/** A leaderboard of which runs with scores end in most histories. Shorter runs would have few scores, and take long. */
const shortBoard = fc
  .tuple(
    board,
    fc.record({
      by: fc.constant('metric' as const),
      status: fc.constant('active' as const),
      from: fc.integer({ min: -20, max: 0 }),
      days: fc.constant(null),
      hours: fc.constantFrom(null, null, null, null, ['06:00', '18:00']),
      split: fc.constantFrom(false, false, false, true),
      max: maybe(fc.integer({ min: 2, max: 3 }), 25),
      run: fc.constantFrom(['day', 3], ['day', 7]),
    }),
  )
  .map(([any, short]) => ({ ...any, ...short }));

/** A points trigger or an achievement for final ranks. */
const rankRule = fc.record({
  points: maybe(fc.constantFrom(1, 10, 50), 66),
  /** Of the leaderboards for which ranks are rewarded, counted from the last one. */
  board: fc.constantFrom(0, 0, 1),
  system: fc.nat(1),
  from: maybe(fc.constantFrom(1, 2), 33),
  to: fc.oneof(
    fc.record({ rank: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ percent: fc.constantFrom(34, 50, 100) }),
  ),
  requires: maybe(fc.nat(7), 25),
  plan,
  status,
});

export const freezes = maybe(
  fc.record({
    initial: fc.nat(2),
    more: fc.nat(2),
    earned: maybe(fc.record({ interval: fc.integer({ min: 1, max: 9 }), amount: fc.integer({ min: 1, max: 2 }) })),
  }),
);

/** Days off: mostly few. */
export const weekdays = fc.oneof(
  fc.constantFrom<number[]>([], [0, 6], [3]),
  fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { maxLength: 6 }).map((days) => days.sort((a, b) => a - b)),
);

const streaks = fc.record({
  frequency: fc.constantFrom('daily', 'weekly', 'monthly'),
  weekStart: fc.constantFrom('sunday', 'monday'),
  evaluationMode: fc.constantFrom('OR', 'AND'),
  personalization: fc.boolean(),
  daysOff: maybe(weekdays),
  freezes,
  thresholds: fc.tuple(maybe(fc.constantFrom(0.5, 1, 3)), maybe(fc.constantFrom(0.5, 1, 3))),
});

export const randomCatalog = fc.record({
  achievements: fc.array(achievement, { maxLength: 6 }),
  systems: fc.array(system, { maxLength: 2, size: 'max' }),
  boards: fc.array(board, { maxLength: 3 }),
  ranks: maybe(
    fc.record({ board: shortBoard, rules: fc.array(rankRule, { minLength: 1, maxLength: 4, size: 'max' }) }),
    66,
  ),
  streaks,
});
export type Drawn = typeof randomCatalog extends fc.Arbitrary<infer T> ? T : never;
