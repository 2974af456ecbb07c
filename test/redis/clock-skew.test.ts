import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { ClockSkew } from '../../src/redis/clock-skew.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const redis = await connectedRedis();
let aheadMs: number;
let lines: string[];
const clock: Clock = { now: () => Date.now() + aheadMs, isReal: true };
const log = pino(
  { level: 'info' },
  { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) },
);

beforeEach(() => {
  aheadMs = 0;
  lines = [];
});

test('a clock that goes wrong is logged at each change, once, and refused above a minute, until it is right', async () => {
  const skew = new ClockSkew({ redis, clock, log });
  await skew.compare();
  expect([Math.abs(skew.ms) < 1_000, skew.isRefused, lines]).toEqual([true, false, []]);

  aheadMs = 30_000;
  for (let n = 0; n < 2; n += 1) await skew.compare();
  expect(skew.ms).toBeGreaterThan(20_000);
  expect(skew.isRefused).toBe(false);
  expect(() => skew.refuse()).not.toThrow();
  expect(lines).toEqual([
    expect.stringMatching(/^the clock of this process is \d+\.\d s ahead of that of Redis: check/),
  ]);

  aheadMs = -90_000;
  for (let n = 0; n < 2; n += 1) await skew.compare();
  expect(skew.ms).toBeLessThan(-60_000);
  expect(skew.isRefused).toBe(true);
  expect(() => skew.refuse()).toThrow(/No events are taken: the clock of this process is \d+\.\d s behind/);
  expect(lines.slice(1)).toEqual([expect.stringContaining('takes no events')]);

  aheadMs = 0;
  await skew.compare();
  expect(skew.isRefused).toBe(false);
  expect(lines.slice(2)).toEqual(['the clock of this process agrees with Redis again']);
});

test('once refused it is compared again by itself, soon', async () => {
  aheadMs = 90_000;
  const skew = new ClockSkew({ redis, clock, log });
  await skew.start();
  try {
    expect(skew.isRefused).toBe(true);
    aheadMs = 0;
    await expect.poll(() => skew.isRefused).toBe(false);
  } finally {
    skew.close();
  }
});

test('a clock that is set is not compared', async () => {
  aheadMs = 90_000;
  const skew = new ClockSkew({ redis, clock: { now: () => clock.now() }, log });
  await skew.start();
  expect([skew.isRefused, skew.ms, lines]).toEqual([false, 0, []]);
});
