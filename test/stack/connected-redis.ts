import { Redis } from 'ioredis';
import { afterAll } from 'vitest';
import { testStack } from './stack.ts';

/** A connection to the test file's own Redis, empty at first; both end with the file. Call this at the top of the file. */
export async function connectedRedis(): Promise<Redis> {
  const stack = await testStack({ database: 'none' });
  const redis = new Redis(stack.redisUrl);
  afterAll(async () => {
    await redis.quit();
    await stack.close();
  });
  return redis;
}
