import { expect, test } from 'vitest';
import { exceededBy, nextRate, sustained, type RampStep } from '../../../src/cli/load/ramp.ts';
import { randomFrom } from '../../../src/cli/load/random.ts';
import { arrivals, type Bursts, durationMs, rateAt, rateCurve } from '../../../src/cli/load/schedule.ts';

function due(rate: string, untilMs: number, { share = 1, bursts = null as Bursts | null, seed = 1 } = {}): number[] {
  const times: number[] = [];
  for (const atMs of arrivals({ curve: rateCurve(rate, 'rate'), share, bursts, random: randomFrom(seed) })) {
    if (atMs >= untilMs) break;
    times.push(atMs);
  }
  return times;
}

test('arrivals have the mean and the spread of a Poisson process, and a seed repeats them', () => {
  const times = due('200', 100_000);
  expect(Math.abs(times.length - 20_000)).toBeLessThan(5 * Math.sqrt(20_000));
  const gaps = times.map((at, no) => at - (times[no - 1] ?? 0));
  // In a Poisson process a share of 1/e of the gaps is longer than the mean.
  expect(gaps.filter((gap) => gap > 5).length / gaps.length).toBeCloseTo(1 / Math.E, 1);
  expect(due('200', 1_000)).toEqual(due('200', 1_000));
  expect(due('200', 1_000)).not.toEqual(due('200', 1_000, { seed: 2 }));
  expect(due('200', 100_000, { share: 0.25 }).length / times.length).toBeCloseTo(0.25, 1);
});

test('a curve changes evenly between its points, and a rate of 0 at the end is the end', () => {
  const curve = rateCurve('0s:0, 10s:100, 20s:100, 25s:0', 'rate');
  expect([0, 5_000, 10_000, 15_000, 22_500, 60_000].map((at) => rateAt(curve, at))).toEqual([0, 50, 100, 100, 50, 0]);
  const times = [...arrivals({ curve, share: 10, bursts: null, random: randomFrom(3) })];
  const between = (from: number, to: number): number => times.filter((at) => at >= from && at < to).length;
  expect(between(10_000, 20_000) / between(0, 10_000)).toBeCloseTo(2, 0);
  expect(times.at(-1)!).toBeLessThan(25_000);
});

test('bursts: all of a period within its first part', () => {
  const times = due('100', 60_000, { bursts: { everyMs: 5_000, withinMs: 100 } });
  expect(times.length).toBeGreaterThan(5_000);
  expect(times.every((at) => at % 5_000 <= 100)).toBe(true);
  expect(new Set(due('100', 20_000, { bursts: { everyMs: 5_000, withinMs: 0 } }))).toEqual(
    new Set([0, 5_000, 10_000, 15_000]),
  );
});

test.each(['', '0', '-3', 'fast', '10:5', '0s:0', '5s:10,1s:20', '0s:10,1s'])('refuses the rate "%s"', (rate) => {
  expect(() => rateCurve(rate, 'rate')).toThrow(/^rate/);
});

test('durations', () => {
  expect(['250ms', '1.5s', '2m', '1h'].map((text) => durationMs(text, 'duration'))).toEqual([
    250, 1_500, 120_000, 3_600_000,
  ]);
  expect(() => durationMs('30', 'bursts.every')).toThrow('bursts.every must be a duration');
});

/** Tries rates against a server that sustains so many requests a second. */
function ramped(capacity: number, { from = 100, factor = 1.5, generator = Infinity } = {}): RampStep[] {
  const steps: RampStep[] = [];
  for (let rate = nextRate(steps, { from, factor }); rate !== null; rate = nextRate(steps, { from, factor })) {
    const figures = { rate, perSecond: Math.min(rate, capacity), p50: 1, p99: rate > capacity ? 900 : 5, errors: 0 };
    steps.push({ ...figures, exceeded: exceededBy(figures, { p99Ms: 250 }), limitedByGenerator: rate > generator });
  }
  return steps;
}

test.each([7, 60, 100, 149, 1_234, 20_000])('a ramp finds a capacity of %i to 10 %', (capacity) => {
  const best = sustained(ramped(capacity))!.rate;
  expect(best).toBeLessThanOrEqual(capacity);
  expect(best).toBeGreaterThan(capacity / 1.1);
});

test('a ramp ends when the generator is the limit, and says nothing about rates beyond', () => {
  const steps = ramped(1e9, { generator: 400 });
  expect(steps.map(({ rate }) => rate)).toEqual([100, 150, 225, 337.5, 506.25]);
  expect(sustained(steps)!.rate).toBe(337.5);
  expect(sustained(ramped(0.1))).toBeNull();
});
