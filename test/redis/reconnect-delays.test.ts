import type { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { createPatientRedis, createRedis } from '../../src/redis/client.ts';

/** Nothing listens there. */
const NOWHERE = 'redis://127.0.0.1:1';

const made: Redis[] = [];
afterAll(() => made.forEach((redis) => redis.disconnect()));

describe.each([
  ['for work that a caller waits for', createRedis],
  ['for a worker', createPatientRedis],
] as const)('a connection %s', (_, make) => {
  function connection(): Redis {
    const redis = make(NOWHERE);
    redis.on('error', () => undefined);
    made.push(redis);
    return redis;
  }
  const delayOf = (redis: Redis, attempt: number): number => redis.options.retryStrategy!(attempt) as number;

  test('reconnects often while another server may take over, and seldom after that', () => {
    const redis = connection();
    const delays = Array.from({ length: 60 }, (_, n) => delayOf(redis, n + 1));
    expect(delays.slice(0, 3)).toEqual([50, 100, 200]);
    expect(new Set(delays.slice(3, 32))).toEqual(new Set([400]));
    expect(new Set(delays.slice(32))).toEqual(new Set([2_000]));
  });

  test('to a server that accepts connections and refuses to serve reconnects less and less often', () => {
    const redis = connection();
    const loading = new Error('LOADING Redis is loading the dataset in memory');
    const delays = Array.from({ length: 8 }, () => {
      redis.options.reconnectOnError!(loading);
      return delayOf(redis, 1);
    });
    expect(delays).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
  });
});
