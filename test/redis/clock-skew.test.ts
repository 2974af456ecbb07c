import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { ClockSkew, readRedisProcessId } from '../../src/redis/server-info.ts';
import { startWorkers } from '../../workers/start.ts';
import { startLaurel } from '../laurel.ts';
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

test('logs each change of a wrong clock once, and refuses it above a minute, until it is right', async () => {
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
  expect(() => skew.refuse()).toThrow(/Events are refused: the clock of this process is \d+\.\d s behind/);
  expect(lines.slice(1)).toEqual([expect.stringContaining('refuses events')]);

  aheadMs = 0;
  await skew.compare();
  expect(skew.isRefused).toBe(false);
  expect(lines.slice(2)).toEqual(['the clock of this process agrees with Redis again']);
});

test('compares a refused clock again soon, without a request', async () => {
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

test('refuses a clock at the first call after it jumped, and accepts it at the first call after it was set right', async () => {
  const skew = new ClockSkew({ redis, clock, log });
  await skew.start();
  try {
    for (const jumpMs of [120_000, -120_000]) {
      aheadMs = jumpMs;
      expect(() => skew.refuse()).toThrow('Events are refused');
      // The comparison, which the call began, finds the same.
      await skew.compare();
      expect([Math.round(skew.ms / 10_000), skew.isRefused]).toEqual([jumpMs / 10_000, true]);
      aheadMs = 0;
      expect(() => skew.refuse()).not.toThrow();
    }
  } finally {
    skew.close();
  }
});

test("compares when a reply has a time that differs, because Redis's clock may have jumped", async () => {
  const comparisons = async (): Promise<number> =>
    Number(/cmdstat_time:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  const skew = new ClockSkew({ redis, clock, log });
  await skew.start();
  try {
    const causedByReply = async (): Promise<number> => {
      const before = await comparisons();
      await readRedisProcessId(redis, (redisMs) => skew.heard(redisMs));
      return (await comparisons()) - before;
    };
    // A reply that takes a second looks like a wrong clock.
    await expect.poll(causedByReply).toBe(0);
    const before = await comparisons();
    await expect
      .poll(async () => {
        skew.heard(Date.now() - 120_000);
        return comparisons();
      })
      .toBeGreaterThan(before);
    expect(skew.isRefused).toBe(false);
  } finally {
    skew.close();
  }
});

test('does not compare a test clock', async () => {
  aheadMs = 90_000;
  const skew = new ClockSkew({ redis, clock: { now: () => clock.now() }, log });
  await skew.start();
  expect([skew.isRefused, skew.ms, lines]).toEqual([false, 0, []]);
});

test('a worker whose clock is wrong plans and applies nothing with its time', async () => {
  const laurel = await startLaurel({ configuration: { metrics: [{ key: 'm', name: 'M' }] } });
  aheadMs = 3_600_000;
  const { redisUrl, databaseUrl } = laurel;
  const workers = await startWorkers({ redisUrl, databaseUrl, clock, log: pino({ level: 'silent' }) });
  try {
    // Storing continues: stored entries already have a time.
    await laurel.app.post('/v1/metrics/m/event', { user: { id: 'ada' }, value: 1 });
    const { body } = await laurel.admin.post('/v1/recomputations', { what: ['points'] });
    const status = async (): Promise<string> =>
      (await laurel.admin.get(`/v1/recomputations/${body.id}`)).body.status as string;
    const stored = async () => (await laurel.pool.query('SELECT FROM events')).rowCount;
    await expect.poll(stored).toBe(1);
    // Otherwise it would be planned within this time.
    await sleep(2_500);
    expect(await status()).toBe('planning');
    aheadMs = 0;
    await expect.poll(status).toBe('planned');
  } finally {
    await workers.close();
    await laurel.close();
  }
});
