import { expect, test } from 'vitest';
import { compare, comparisonText, whyNotComparable } from '../../../src/cli/load/compare.ts';
import { Histogram } from '../../../src/cli/load/histogram.ts';
import { randomFrom } from '../../../src/cli/load/random.ts';
import { summaryOf, type LoadResult } from '../../../src/cli/load/result.ts';

/** A run of 30 seconds with exponential latencies of that mean, at a rate that varies by a tenth. */
function result(perSecond: number, meanMs: number, { seed = 1, wobble = 0 } = {}): LoadResult {
  const random = randomFrom(seed);
  const seconds = Array.from({ length: 30 }, (_, second) => {
    const answered = Math.round(perSecond * (0.95 + random() * 0.1));
    const latency = new Histogram();
    const mean = meanMs * (1 + wobble * (random() * 2 - 1));
    for (let no = 0; no < answered; no += 1) latency.record(-Math.log(1 - random()) * mean);
    const counts = { due: answered, answered, statuses: { 'event 201': answered }, events: answered };
    return { ...counts, latency: latency.buckets(), expectedLatency: latency.buckets(), second, queue: 0, inFlight: 0 };
  });
  const latency = Histogram.of(...seconds.map((one) => one.latency)).buckets();
  const answered = seconds.reduce((sum, one) => sum + one.answered, 0);
  const statuses = { 'event 201': answered };
  const summary = summaryOf({
    seconds: 30,
    due: answered,
    answered,
    statuses,
    events: answered,
    latency,
    expectedLatency: latency,
  });
  const scenario = { requests: [{ kind: 'event' as const }], rate: perSecond };
  return { run: 'abc', scenario, summary, seconds, latency, ramp: null, flatOut: false } as unknown as LoadResult;
}

const verdicts = (before: LoadResult, after: LoadResult, tolerance = 0.1) =>
  Object.fromEntries(compare(before, after, tolerance).map(({ figure, verdict }) => [figure, verdict]));

test('two runs of the same server are the same, and their interval contains 1', () => {
  const [one, other] = [result(200, 10), result(200, 10, { seed: 2 })];
  expect(verdicts(one, other)).toEqual({
    'answers per second': 'same',
    'p50 ms': 'same',
    'p90 ms': 'same',
    'p99 ms': 'same',
  });
  for (const { low, high, ratio } of compare(one, other, 0.1)) {
    expect(low).toBeLessThanOrEqual(ratio);
    expect(high).toBeGreaterThanOrEqual(ratio);
  }
  expect(compare(one, other, 0.1)).toEqual(compare(one, other, 0.1));
});

test('a slower server is worse, a faster one better, and the tolerance decides', () => {
  const [usual, slow] = [result(200, 10), result(200, 13, { seed: 2 })];
  expect(verdicts(usual, slow)['p99 ms']).toBe('worse');
  expect(verdicts(slow, usual)['p99 ms']).toBe('better');
  expect(verdicts(usual, slow, 0.6)['p99 ms']).toBe('same');
  expect(verdicts(usual, result(150, 10))['answers per second']).toBe('worse');
  expect(comparisonText(compare(usual, slow, 0.1))).toMatch(/^p99 ms .* 1\.\d\d +1\.\d\d to 1\.\d\d +worse$/m);
});

test('a difference that a run shows within itself is unclear', () => {
  const few = (seed: number, mean: number) => {
    const one = result(2, mean, { seed, wobble: 1 });
    return { ...one, seconds: one.seconds.slice(0, 8) };
  };
  const pairs = [1, 2, 3, 4, 5, 6].map((seed) => verdicts(few(seed, 10), few(seed + 50, 11.5), 0.02)['p50 ms']);
  expect(pairs).toContain('unclear');
});

test('runs of different loads are refused with the field that differs', () => {
  const one = result(200, 10);
  const other = (scenario: object) => ({ ...one, scenario: { ...one.scenario, ...scenario } });
  expect(whyNotComparable(one, one)).toBeNull();
  expect(whyNotComparable(one, other({ rate: 300 }))).toBe('scenario.rate differs: 200 and 300');
  expect(whyNotComparable(one, other({ users: 5 }))).toBe('scenario.users differs: undefined and 5');
  expect(whyNotComparable(one, { ...one, flatOut: true })).toBe('only one of them is --flat-out');
  expect(whyNotComparable(one, { ...one, seconds: one.seconds.slice(0, 3) })).toContain('lasted 3 s');
});
