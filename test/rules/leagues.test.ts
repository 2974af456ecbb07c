import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type LeagueRule,
  moveOf,
  moveOfInactive,
  type OpenCohort,
  seatUsers,
  tierAfter,
} from '../../src/rules/leagues.ts';

const rule: LeagueRule = { tiers: 3, cohortUsers: 10, promoted: 2, demoted: 3 };

test.each([
  // tier, rank, users, move
  [0, 1, 10, 'up'],
  [0, 2, 10, 'up'],
  [0, 3, 10, 'stay'],
  [0, 10, 10, 'stay'],
  [1, 8, 10, 'down'],
  [1, 7, 10, 'stay'],
  [2, 1, 10, 'stay'],
  [2, 10, 10, 'down'],
  // Promotion comes first in a small cohort, and somebody alone does not fall.
  [1, 2, 2, 'up'],
  [2, 1, 1, 'stay'],
  [2, 2, 2, 'stay'],
  [2, 3, 3, 'down'],
  // A tier that no longer exists counts as the highest.
  [9, 1, 10, 'stay'],
  [9, 9, 10, 'down'],
] as const)('in tier %i, rank %i of %i: %s', (tier, rank, users, move) => {
  expect(moveOf(rule, { tier, rank, users })).toBe(move);
});

test('users without a score stay, or fall down to the lowest tier', () => {
  expect([0, 1, 2].map((tier) => moveOfInactive(rule, tier))).toEqual(['stay', 'stay', 'stay']);
  expect([0, 1, 2].map((tier) => moveOfInactive({ ...rule, inactive: 'fall' }, tier))).toEqual([
    'stay',
    'down',
    'down',
  ]);
});

const rules = fc
  .record({
    tiers: fc.integer({ min: 2, max: 50 }),
    cohortUsers: fc.integer({ min: 10, max: 200 }),
    promoted: fc.nat(200),
    demoted: fc.nat(200),
    inactive: fc.constantFrom('stay' as const, 'fall' as const),
  })
  .filter(({ cohortUsers, promoted, demoted }) => promoted + demoted <= cohortUsers);

/** Ranks as leaderboards with shared ranks have them, from scores. */
const ranksOf = (scores: readonly number[]): number[] =>
  scores.map((score) => 1 + scores.filter((other) => other > score).length);

describe('any cohort', () => {
  const cohorts = fc.tuple(rules, fc.nat(60), fc.array(fc.nat(20), { minLength: 1, maxLength: 200 }));

  test('users move by at most one tier and stay within the tiers', () => {
    fc.assert(
      fc.property(cohorts, ([one, tier, scores]) => {
        const top = Math.min(tier, one.tiers - 1);
        for (const rank of ranksOf(scores)) {
          const after = tierAfter(one, tier, moveOf(one, { tier, rank, users: scores.length }));
          expect(after).toBeGreaterThanOrEqual(0);
          expect(after).toBeLessThan(one.tiers);
          expect(Math.abs(after - top)).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  test('a better rank never moves worse, and equal ranks move alike', () => {
    fc.assert(
      fc.property(cohorts, ([one, tier, scores]) => {
        const order = { up: 2, stay: 1, down: 0 };
        const ranks = ranksOf(scores).toSorted((a, b) => a - b);
        const moves = ranks.map((rank) => order[moveOf(one, { tier, rank, users: scores.length })]);
        expect(moves).toEqual(moves.toSorted((a, b) => b - a));
      }),
    );
  });

  test('without ties, as many move as the rule says, if the cohort is full', () => {
    fc.assert(
      fc.property(rules, (one) => {
        const users = one.cohortUsers;
        const moves = Array.from({ length: users }, (_, at) => moveOf(one, { tier: 1, rank: at + 1, users }));
        const middle = one.tiers > 2;
        expect(moves.filter((move) => move === 'up')).toHaveLength(middle ? one.promoted : 0);
        // The first of a cohort never falls.
        const falling = one.demoted === users ? users - 1 : one.demoted;
        expect(moves.filter((move) => move === 'down')).toHaveLength(falling);
      }),
    );
  });
});

test('cohorts are filled one after the other, however the users come', () => {
  const calls = fc.array(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 40 }), { maxLength: 20 });
  fc.assert(
    fc.property(calls, fc.integer({ min: 1, max: 12 }), (batches, size) => {
      const open = new Map<string, OpenCohort>();
      const seats = batches.flatMap((keys) =>
        seatUsers(keys, open, size).map((cohort, at) => ({ key: keys[at]!, cohort })),
      );
      for (const key of ['a', 'b', 'c']) {
        const its = seats.filter((seat) => seat.key === key).map(({ cohort }) => cohort);
        const distinct = [...new Set(its)];
        // In order: each cohort is full before the next one begins.
        expect(its.map((cohort) => distinct.indexOf(cohort))).toEqual(its.map((_, at) => Math.floor(at / size)));
        for (const [at, { members }] of distinct.entries())
          expect(members).toBe(at < distinct.length - 1 ? size : its.length - (distinct.length - 1) * size);
      }
      const ofOthers = new Set(
        seats.map(({ key, cohort }) => `${key}${[...new Set(seats.map((s) => s.cohort))].indexOf(cohort)}`),
      );
      expect(ofOthers.size).toBe(new Set(seats.map(({ cohort }) => cohort)).size);
    }),
  );
});
