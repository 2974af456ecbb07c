import { expect, test } from 'vitest';
import { ServerHealth } from '../../../src/engine/webhooks/endpoint.ts';

const DAY_MS = 86_400_000;
const healthy = { failures: 0, failingSinceMs: null, firstPauseMs: 30_000 };
const fail = (health: ServerHealth, atMs: number, nowMs = 0): void =>
  health.failedTry({ beganMs: atMs, endedMs: atMs, nowMs });

test('the number of messages in flight is that of successes in a row, up to a bound; one after a failure', () => {
  const health = new ServerHealth(healthy);
  const seen = [health.concurrency];
  for (let n = 0; n < 4; n += 1) {
    health.succeeded(4);
    seen.push(health.concurrency);
  }
  fail(health, 0);
  expect([...seen, health.concurrency]).toEqual([1, 2, 3, 4, 4, 1]);
});

test('the breaker opens at the tenth failure in a row, and for twice as long at each further one, up to 15 minutes', () => {
  const health = new ServerHealth(healthy);
  for (let n = 1; n < 10; n += 1) fail(health, 0);
  expect(health.openUntilMs(0)).toBeNull();
  let nowMs = 0;
  const pauses: number[] = [];
  for (let n = 0; n < 7; n += 1) {
    fail(health, nowMs);
    const untilMs = health.openUntilMs(nowMs)!;
    pauses.push((untilMs - nowMs) / 1_000);
    expect(health.openUntilMs(untilMs - 1)).toBe(untilMs);
    expect(health.openUntilMs(untilMs)).toBeNull();
    nowMs = untilMs;
  }
  expect(pauses).toEqual([30, 60, 120, 240, 480, 900, 900]);
  expect(health.succeeded(16)).toBe(true);
  expect([health.failures, health.failingSinceMs, health.openUntilMs(nowMs)]).toEqual([0, null, null]);
  expect(health.succeeded(16)).toBe(false);
});

test('tries that began before the breaker opened do not open it for longer', () => {
  const health = new ServerHealth(healthy);
  for (let n = 1; n <= 10; n += 1) fail(health, 100);
  for (let n = 1; n <= 10; n += 1) health.failedTry({ beganMs: 50, endedMs: 200, nowMs: 0 });
  expect(health.failures).toBe(10);
  expect(health.openUntilMs(100)).toBe(30_100);
});

test("continues another process's count: the next failure opens the breaker, and five days after the first it gives up", () => {
  const health = new ServerHealth({ failures: 11, failingSinceMs: 1_000, firstPauseMs: 30_000 });
  expect(health.openUntilMs(0)).toBeNull();
  fail(health, 0, 5 * DAY_MS);
  expect(health.openUntilMs(0)).toBe(120_000);
  expect(health.isGivenUp(5 * DAY_MS + 999)).toBe(false);
  expect(health.isGivenUp(5 * DAY_MS + 1_000)).toBe(true);
});
