import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Arrivals } from '../../src/redis/arrivals.ts';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { outboxKey } from '../../src/redis/keys.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

const AN_HOUR_MS = 3_600_000;
const never = new AbortController().signal;
let stack: TestStack;
let redis: Redis;
let arrivals: Arrivals;

beforeAll(async () => {
  stack = await testStack();
  redis = createRedis(stack.redisUrl);
  await redisReady(redis);
  arrivals = new Arrivals(redis, () => [outboxKey(0), outboxKey(1)]);
});

beforeEach(() => redis.flushall());

afterAll(async () => {
  arrivals.close();
  redis.disconnect();
  await stack.close();
});

/** Resolves when a read blocks in Redis. */
const blocked = (): Promise<void> =>
  expect.poll(async () => /blocked_clients:(\d+)/.exec(await redis.info('clients'))![1]).toBe('1');

const add = (): Promise<unknown> => redis.xadd(outboxKey(1), '*', 'a', 'b');

test('an entry ends the wait; one that is there already, at once', async () => {
  const waiting = arrivals.wait(AN_HOUR_MS, never);
  await blocked();
  await add();
  await waiting;
  await expect(arrivals.wait(AN_HOUR_MS, never)).resolves.toBeUndefined();
});

test('a wait whose connection breaks goes on over the next one', async () => {
  const waiting = arrivals.wait(AN_HOUR_MS, never);
  await blocked();
  await redis.call('CLIENT', 'KILL', 'TYPE', 'NORMAL', 'SKIPME', 'yes');
  await blocked();
  await add();
  await expect(waiting).resolves.toBeUndefined();
});

test('a wait that is called off ends, and what comes after it waits again', async () => {
  const calledOff = new AbortController();
  const waiting = arrivals.wait(AN_HOUR_MS, calledOff.signal);
  await blocked();
  calledOff.abort();
  await expect(waiting).resolves.toBeUndefined();
  await arrivals.wait(1, never);
});
