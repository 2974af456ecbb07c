import { expect, test } from 'vitest';
import { Histogram } from '../../../src/cli/load/histogram.ts';
import { generatorSummary, type Summary } from '../../../src/cli/load/result.ts';

const health = (noConnection: number, busy = 0.3) => [
  { delay: new Histogram().buckets(), cpuSeconds: 1, busy, noConnection },
];
const SUMMARY = { seconds: 10, p50: 4_000, perSecond: 2_671 } as Summary;

test('a load beyond what Laurel can do names the rate to try next', () => {
  expect(generatorSummary(health(0), SUMMARY).notes).toEqual([]);
  const { notes, isLimit } = generatorSummary(health(0.99), SUMMARY);
  expect(isLimit).toBe(false);
  expect(notes.join(' ')).toMatch(/no connection was free.*a --rate of about 2136 .*Size from it/);
  // A busy generator says nothing about Laurel.
  expect(generatorSummary(health(0.99, 0.95), SUMMARY).notes.join(' ')).not.toMatch(/--rate/);
});
