import { describe, expect, test } from 'vitest';
import { parseRetryAfter } from '../../../src/engine/webhooks/guarded-post.ts';
import { retryDelayMs } from '../../../src/engine/webhooks/sender.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

describe('retryDelayMs', () => {
  const steps = [1, 5, 30, 120, 300, 600, 600].map((minutes) => minutes * MINUTE_MS);

  test('seven tries follow the first one, each a step later, ± 20 %; then none', () => {
    for (const [index, stepMs] of steps.entries()) {
      const delays = [0, 0.5, 1].map((random) => retryDelayMs(index + 1, { retryAfterMs: null, random }));
      expect(delays).toEqual([0.8 * stepMs, stepMs, 1.2 * stepMs]);
    }
    expect(retryDelayMs(8, { retryAfterMs: 1_000, random: 0.5 })).toBeNull();
  });

  test.each([
    ['shorter than the step', 10_000, MINUTE_MS],
    ['longer', 90_000, 90_000],
    ['much longer', HOUR_MS, 2 * MINUTE_MS],
  ])("honours the receiver's Retry-After up to twice the step: %s", (_what, retryAfterMs, delayMs) => {
    expect(retryDelayMs(1, { retryAfterMs, random: 0.5 })).toBe(delayMs);
  });
});

test.each([
  [undefined, null],
  ['', null],
  ['30', 30_000],
  [' 0 ', 0],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['2026', 2_026_000],
  ['Sun, 22 Nov 2026 10:00:30 GMT', 30_000],
  ['Sunday, 22-Nov-26 10:00:30 GMT', 30_000],
  ['Sun, 22 Nov 2026 09:00:00 GMT', 0],
  ['Sun, 99 Nov 2026 09:00:00 GMT', null],
])('parseRetryAfter(%j) is %j', (header, ms) => {
  expect(parseRetryAfter(header, Date.UTC(2026, 10, 22, 10))).toBe(ms);
});
