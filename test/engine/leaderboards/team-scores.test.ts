import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decimalNumber, decimalOfMicros, microsOf } from '../../../src/domain/decimal.ts';
import { teamScore } from '../../../src/engine/leaderboards/teams.ts';

type Sum = Parameters<typeof teamScore>[1];
type TeamsBy = 'sum' | 'mean';

/** The score by whole numbers of any size. */
function exactScore(teamsBy: TeamsBy, sum: Sum): number {
  const micros = microsOf(sum);
  return decimalNumber(decimalOfMicros(teamsBy === 'mean' ? micros / BigInt(sum.members) : micros));
}

/** 2^53 millionths. */
const [WHOLE, MICROS] = [9_007_199_254, 740_992];

test.each<[TeamsBy, Sum, number]>([
  ['sum', { whole: 0, micros: 300_000, members: 2 }, 0.3],
  ['sum', { whole: 1, micros: -500_000, members: 1 }, 0.5],
  ['sum', { whole: 0, micros: 3_500_000, members: 4 }, 3.5],
  ['sum', { whole: -1, micros: -500_000, members: 1 }, -1.5],
  ['sum', { whole: WHOLE, micros: MICROS - 1, members: 1 }, Number('9007199254.740991')],
  ['sum', { whole: WHOLE, micros: MICROS + 1, members: 1 }, Number('9007199254.740993')],
  ['sum', { whole: WHOLE + 1, micros: MICROS - 1_000_001, members: 1 }, Number('9007199254.740991')],
  ['sum', { whole: 999_999_999_999_999, micros: 1, members: 1 }, 999_999_999_999_999],
  ['mean', { whole: 2, micros: 0, members: 3 }, 0.666666],
  ['mean', { whole: -2, micros: 0, members: 3 }, -0.666666],
  ['mean', { whole: 0, micros: 2, members: 3 }, 0],
  ['mean', { whole: WHOLE, micros: MICROS + 1, members: 2 }, 4_503_599_627.370496],
  ['mean', { whole: 999_999_999_999_999, micros: 999_999, members: 1_000_000 }, 999_999_999.999999],
])('the %s of %j is %d, as by whole numbers of any size', (teamsBy, sum, score) => {
  expect(teamScore({ teamsBy, teamMinMembers: 1 }, sum)).toBe(score);
  expect(exactScore(teamsBy, sum)).toBe(score);
});

test('any sum and mean equals that by whole numbers of any size', () => {
  const near = fc.integer({ min: -3, max: 3 });
  const whole = fc.oneof(
    fc.integer({ min: -1e6, max: 1e6 }),
    near.map((by) => WHOLE + by),
    near.map((by) => -WHOLE + by),
    fc.maxSafeInteger().map((any) => Math.trunc(any / 10)),
  );
  const micros = fc.oneof(
    fc.integer({ min: -3e6, max: 3e6 }),
    near.map((by) => MICROS + by),
    near.map((by) => -MICROS + by),
  );
  const members = fc.oneof(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 1_000_000 }));
  fc.assert(
    fc.property(fc.constantFrom('sum' as const, 'mean' as const), whole, micros, members, (teamsBy, ...counts) => {
      const sum = { whole: counts[0], micros: counts[1], members: counts[2] };
      expect(teamScore({ teamsBy, teamMinMembers: 1 }, sum) + 0).toBe(exactScore(teamsBy, sum) + 0);
    }),
    { numRuns: 5_000 },
  );
});

test('a team with too few members has no score', () => {
  const sum = { whole: 5, micros: 0, members: 2 };
  expect(teamScore({ teamsBy: 'sum', teamMinMembers: 3 }, sum)).toBe(0);
  expect(teamScore({ teamsBy: 'sum', teamMinMembers: 2 }, sum)).toBe(5);
  expect(teamScore({ teamsBy: 'mean', teamMinMembers: null }, { whole: 0, micros: 0, members: 0 })).toBe(0);
});
