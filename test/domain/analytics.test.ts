import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  durationOf,
  meanDifference,
  medianStep,
  mondayOf,
  monthOf,
  secondsOf,
  shareDifference,
  sizeOf,
  valuesOfSize,
} from '../../src/domain/analytics.ts';
import { microsNumber } from '../../src/domain/decimal.ts';
import { dateOf, dayOf } from '../../src/domain/periods.ts';

test('weeks begin on Monday and months on their first day', () => {
  const shown = (date: string): string[] => [dateOf(mondayOf(dayOf(date))), dateOf(monthOf(dayOf(date)))];
  expect(shown('2026-11-26')).toEqual(['2026-11-23', '2026-11-01']);
  expect(shown('2026-11-23')).toEqual(['2026-11-23', '2026-11-01']);
  expect(shown('2026-11-01')).toEqual(['2026-10-26', '2026-11-01']);
  expect(shown('1970-01-01')).toEqual(['1969-12-29', '1970-01-01']);
});

test('a value is within the bounds of its size', () => {
  expect(['0', '1', '1.999999', '2', '5', '9.5', '10', '0.000001', '-3'].map((text) => valuesOf(text))).toEqual([
    [0, 0],
    [1, 2],
    [1, 2],
    [2, 5],
    [5, 10],
    [5, 10],
    [10, 20],
    [1e-6, 2e-6],
    [-5, -2],
  ]);
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 14n), max: 10n ** 14n }), (micros) => {
      const { from, to } = valuesOfSize(sizeOf(micros));
      expect(sizeOf(Number(micros))).toBe(sizeOf(micros));
      const value = microsNumber(micros);
      if (micros > 0n) expect(value >= from && value < to).toBe(true);
      if (micros < 0n) expect(value > from && value <= to).toBe(true);
    }),
  );
});

const valuesOf = (text: string): [number, number] => {
  const { from, to } = valuesOfSize(sizeOf(BigInt(Math.round(Number(text) * 1e6))));
  return [from, to];
};

test('the seconds of a duration’s step are within 6 % of it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 20, max: 3_000_000_000 }), (seconds) => {
      expect(Math.abs(secondsOf(durationOf(seconds * 1000)) / seconds - 1)).toBeLessThan(0.06 + 1 / seconds);
    }),
  );
  expect([durationOf(-5000), durationOf(0), durationOf(1000)]).toEqual([0, 0, 0]);
});

test('the median is the step of the middle one', () => {
  expect(medianStep(new Map())).toBeNull();
  expect(medianStep(new Map([[4, 0]]))).toBeNull();
  expect(
    medianStep(
      new Map([
        [9, 2],
        [1, 2],
        [5, 1],
      ]),
    ),
  ).toBe(5);
});

test('the difference of two shares has the interval of Newcombe’s tenth method', () => {
  // The example of Newcombe (1998): 56 of 70 and 48 of 80.
  const found = shareDifference({ count: 56, of: 70 }, { count: 48, of: 80 })!;
  expect([found.difference, found.low, found.high].map((number) => number.toFixed(4))).toEqual([
    '0.2000',
    '0.0524',
    '0.3339',
  ]);
  expect(shareDifference({ count: 0, of: 0 }, { count: 1, of: 2 })).toBeNull();
});

test('the difference of two means has an interval by both variances', () => {
  // Values 1, 2, 3 and 2, 4, 6, 8.
  const found = meanDifference({ n: 3, mean: 2, squares: 2 }, { n: 4, mean: 5, squares: 20 })!;
  const spread = 1.959964 * Math.sqrt(1 / 3 + 20 / 3 / 4);
  expect(found).toEqual({ difference: -3, low: -3 - spread, high: -3 + spread });
  expect(meanDifference({ n: 1, mean: 2, squares: 0 }, { n: 4, mean: 5, squares: 20 })).toBeNull();
});
