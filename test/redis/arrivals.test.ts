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

const reads = async (): Promise<number> =>
  Number(/cmdstat_xread:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);

test('an entry ends the wait; one that is there already, at once', async () => {
  const waiting = arrivals.wait(AN_HOUR_MS, never);
  await blocked();
  await add();
  await expect(waiting).resolves.toBeUndefined();
  await expect(arrivals.wait(AN_HOUR_MS, never)).resolves.toBeUndefined();
});

test('reads that find nothing follow one another until there is an entry', async () => {
  const before = await reads();
  const waiting = arrivals.wait(1, never);
  await expect.poll(reads).toBeGreaterThan(before + 3);
  await add();
  await expect(waiting).resolves.toBeUndefined();
});

test('a wait whose connection breaks ends, and the next goes over another connection', async () => {
  const waiting = arrivals.wait(AN_HOUR_MS, never);
  await blocked();
  await redis.call('CLIENT', 'KILL', 'TYPE', 'NORMAL', 'SKIPME', 'yes');
  await expect(waiting).resolves.toBeUndefined();
  const next = arrivals.wait(AN_HOUR_MS, never);
  await blocked();
  await add();
  await expect(next).resolves.toBeUndefined();
});

test('a wait that is called off ends', async () => {
  const calledOff = new AbortController();
  const ended = new Arrivals(redis, () => [outboxKey(1)]);
  const waiting = ended.wait(AN_HOUR_MS, calledOff.signal);
  await blocked();
  calledOff.abort();
  await expect(waiting).resolves.toBeUndefined();
});

test('a wait for other streams ends, and is for those the next time', async () => {
  const keys = [outboxKey(0)];
  const others = new Arrivals(redis, () => keys);
  const waiting = others.wait(AN_HOUR_MS, never);
  await blocked();
  await add();
  keys.push(outboxKey(1));
  others.again();
  await expect(waiting).resolves.toBeUndefined();
  await expect(others.wait(AN_HOUR_MS, never)).resolves.toBeUndefined();
  others.close();
});

test("an entry ends the wait where only the caller's connection leads to it, as after a failover", async () => {
  const server = createRedis(stack.redisUrl);
  await redisReady(server);
  const elsewhere = new Arrivals(server, () => [outboxKey(1)]);
  await server.select(1);
  const waiting = elsewhere.wait(1, never);
  await server.xadd(outboxKey(1), '*', 'a', 'b');
  await expect(waiting).resolves.toBeUndefined();
  elsewhere.close();
  server.disconnect();
});
