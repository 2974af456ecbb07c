import { expect, test } from 'vitest';
import { compareRuns } from '../../bench/compare.ts';
import { outcomeOf } from '../../bench/jobs.ts';
import type { Measurement } from '../../bench/measure.ts';
import { median, rowsOf } from '../../bench/rows.ts';
import type { SuiteResult } from '../../bench/suite.ts';
import { targetsOf } from '../../bench/targets.ts';

const measurement = (name: string, round: number, perSecond: number, more: Partial<Measurement> = {}): Measurement => ({
  case: name,
  round,
  perSecond,
  seconds: 1,
  answered: perSecond,
  processed: perSecond,
  statuses: { 201: perSecond },
  p50: 1,
  p99: 2,
  steal: 0,
  others: 0,
  idle: 0,
  nodeMicros: 50,
  redisMicros: 50,
  persistMicros: 30,
  eventsPerCall: 10,
  drainSeconds: 0,
  ...more,
});

const memory = {
  users: 10,
  bytesAUserAtFirst: 100,
  bytesAUserAtLast: 900,
  handedBytesAtFirst: 0,
  eventsAUserAtLast: 3,
  postgresBytesAnEvent: 300,
  outboxEntriesAtLast: 0,
};

test('median of odd and even counts, and of nothing', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([9, 1, 5, 7])).toBe(6);
  expect(median([])).toBeNaN();
});

test('drops a round in which other processes used the CPU, unless there is no other round', () => {
  const stolen = { steal: 0.2 };
  const rows = rowsOf([
    measurement('event', 1, 8000),
    measurement('event', 2, 100, stolen),
    measurement('event', 3, 9000),
    measurement('event', 4, 200, { others: 0.2 }),
    measurement('bare', 1, 40, stolen),
  ]);
  expect(rows).toMatchObject([
    { case: 'bare', kept: 0, dropped: 1, perSecond: 40 },
    { case: 'event', kept: 2, dropped: 2, perSecond: 8500 },
  ]);
});

test('compares within a round: a round that is slow as a whole does not change a ratio', () => {
  const measurements = [
    measurement('event', 1, 8000),
    measurement('direct', 1, 10_000),
    measurement('event', 2, 800),
    measurement('direct', 2, 1000),
    measurement('event', 3, 9000),
    measurement('direct', 3, 10_000, { steal: 0.5 }),
  ];
  const [whole] = targetsOf(measurements, rowsOf(measurements), memory);
  expect(whole).toMatchObject({ value: 0.8, target: 0.85 });
});

test('compares the latency of events beside a sweep with their latency without one in the same round', () => {
  const measurements = [
    measurement('half load alone', 1, 100, { p99: 10 }),
    measurement('half load + sweep', 1, 100, { p99: 15 }),
    measurement('half load alone', 2, 100, { p99: 40 }),
    measurement('half load + sweep', 2, 100, { p99: 100 }),
    measurement('half load alone', 3, 100, { p99: 5 }),
    measurement('half load + sweep', 3, 100, { p99: 50, steal: 0.3 }),
  ];
  const target = targetsOf(measurements, rowsOf(measurements), memory).find(({ name }) => name.includes('sweep'));
  expect(target).toMatchObject({ value: 2, target: 2, least: false });
});

test('a case that was not measured has no figure', () => {
  const measurements = [measurement('event', 1, 8000)];
  const byName = Object.fromEntries(
    targetsOf(measurements, rowsOf(measurements), memory).map((one) => [one.name, one.value]),
  );
  expect(byName['whole event ÷ bare HTTP server, throughput']).toBeNull();
  expect(byName['Redis memory per user, one event each']).toBe(100);
});

test('percentiles of latencies in any order', () => {
  const latencies = Float64Array.from({ length: 1000 }, (_, index) => 1000 - index);
  expect(outcomeOf({ seconds: 2, statuses: { 201: 1000 }, processed: 1000, latencies })).toMatchObject({
    answered: 1000,
    p50: 501,
    p99: 991,
  });
});

test('two runs: clearly slower is worse, noise is unclear, and too few rounds or other options are refused', () => {
  const run = (speeds: number[], seconds = 3): SuiteResult => {
    const measurements = speeds.map((perSecond, at) => measurement('event', at + 1, perSecond));
    const options = { rounds: speeds.length, seconds, connections: 64, users: 10 };
    return { options, measurements, rows: rowsOf(measurements) } as SuiteResult;
  };
  const verdict = (before: number[], after: number[]): string | undefined =>
    compareRuns(run(before), run(after), 0.1)[0]?.comparisons[0]?.verdict;
  expect(verdict([900, 1000, 1010, 990, 1005], [500, 510, 505, 495, 520])).toBe('worse');
  expect(verdict([500, 510, 505, 495, 520], [900, 1000, 1010, 990, 1005])).toBe('better');
  expect(verdict([1000, 1010, 990, 1000, 1000], [1000, 980, 1010, 990, 1005])).toBe('same');
  expect(verdict([300, 1000, 2000, 1100, 400], [250, 800, 1900, 700, 2100])).toBe('unclear');
  expect(() => compareRuns(run([1, 2]), run([1, 2]), 0.1)).toThrow('event has 2 rounds');
  expect(() => compareRuns(run([1, 2, 3]), run([1, 2, 3], 9), 0.1)).toThrow('options.seconds differs: 3 and 9');
});
