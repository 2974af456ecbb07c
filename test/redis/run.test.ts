import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { isFenceOf, readRun, RedisIsReplica, runOfFence } from '../../src/redis/run.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

let stack: TestStack;
let redis: Redis;

beforeAll(async () => {
  stack = await testStack({ database: 'none' });
  redis = createRedis(stack.redisUrl);
  await redisReady(redis);
});

afterAll(async () => {
  redis.disconnect();
  await stack.close();
});

test('the run of a master is the ID of its process and that of its history; a replica has none', async () => {
  const info = await redis.info();
  const ids = ['run_id', 'master_replid'].map((name) => new RegExp(`^${name}:([0-9a-f]{40})\\r$`, 'm').exec(info)![1]);
  expect(await readRun(redis)).toBe(ids.join('.'));
  await redis.replicaof('127.0.0.1', 1);
  await expect(readRun(redis)).rejects.toBeInstanceOf(RedisIsReplica);
  await redis.replicaof('NO', 'ONE');
});

const RUN = 'aa.bb';

test.each([
  [`7/${RUN}`, true],
  [`17/${RUN}`, true],
  ['7/aa.cc', false],
  [`7/a${RUN}`, false],
  [`7${RUN}`, false],
  [RUN, false],
  ['rebuild 7', false],
  ['', false],
])('the fence %s is of the run: %s', (fence, isOf) => {
  expect(isFenceOf(fence, RUN)).toBe(isOf);
  expect(runOfFence(fence) === RUN).toBe(isOf);
});
