import { expect, test } from 'vitest';
import { Histogram, upperMs } from '../../../src/cli/load/histogram.ts';

test('percentiles of latencies in any order are at most 1.6 % too high', () => {
  const histogram = new Histogram();
  for (let no = 1000; no > 0; no -= 1) histogram.record(no);
  for (const share of [0.01, 0.5, 0.9, 0.99, 0.999, 1]) {
    expect(histogram.percentile(share)).toBeGreaterThanOrEqual(1000 * share - 0.001);
    expect(histogram.percentile(share)).toBeLessThanOrEqual(1000 * share * 1.016);
  }
  expect(histogram).toMatchObject({ count: 1000, maxMs: 1000, sumMs: 500_500 });
  expect(new Histogram().percentile(0.99)).toBe(0);
});

test('every duration falls into a bucket that ends no earlier, and buckets ascend', () => {
  for (const ms of [0, 0.001, 0.127, 0.128, 0.129, 0.255, 0.256, 1, 17.3, 999.999, 60_000, 2_000_000]) {
    const histogram = new Histogram();
    histogram.record(ms);
    const [bucket, count] = histogram.buckets();
    expect(count).toBe(1);
    expect(upperMs(bucket!)).toBeGreaterThanOrEqual(ms - 1e-9);
    expect(upperMs(bucket!)).toBeLessThanOrEqual(ms * 1.016 + 0.001);
    if (bucket! > 0) expect(upperMs(bucket! - 1)).toBeLessThan(ms);
  }
});

test('buckets of two processes add up to those of one', () => {
  const [one, other, both] = [new Histogram(), new Histogram(), new Histogram()];
  for (let no = 0; no < 500; no += 1) {
    (no % 3 === 0 ? one : other).record(no * 1.7);
    both.record(no * 1.7);
  }
  const merged = Histogram.of(one.buckets(), other.buckets());
  expect(merged.buckets()).toEqual(both.buckets());
  expect(merged.percentile(0.9)).toBe(both.percentile(0.9));
});
