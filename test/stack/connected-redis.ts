import { Redis } from 'ioredis';
import { afterAll } from 'vitest';
import { testStack } from './stack.ts';

/** A connection to a Redis of the test file's own, empty at first; both end with the file. To be called at its top. */
export async function connectedRedis(): Promise<Redis> {
  const stack = await testStack({ database: 'none' });
  const redis = new Redis(stack.redisUrl);
  afterAll(async () => {
    await redis.quit();
    await stack.close();
  });
  return redis;
}
