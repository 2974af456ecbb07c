import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BacklogWatch } from '../../../src/engine/events/backlog-watch.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { outboxKey } from '../../../src/redis/keys.ts';
import { testStack } from '../../stack/stack.ts';

let stack: Awaited<ReturnType<typeof testStack>>;
let redis: Redis;
beforeAll(async () => {
  stack = await testStack();
  redis = createRedis(stack.redisUrl);
  await redisReady(redis);
});
afterAll(async () => {
  redis.disconnect();
  await stack.close();
});

/** How often Redis was asked for the length of a stream. */
const measures = async (): Promise<number> =>
  Number(/cmdstat_xlen:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);

test('it measures while somebody asks or too much waits, and not at rest', async () => {
  const watch = new BacklogWatch({ redis, backlogLimit: 2, backlogLimitBytes: 1e12 });
  watch.start();
  try {
    expect(watch.exceeded()).toBe(false);
    await redis.xadd(outboxKey(3), '*', 'a', '1');
    await redis.xadd(outboxKey(3), '*', 'a', '1');
    await expect.poll(watch.exceeded, { interval: 10 }).toBe(true);
    // Nobody asks any more, and it is found all the same that all is well again: only then does it rest.
    await redis.del(outboxKey(3));
    const duringASecond = async (): Promise<number> => {
      const before = await measures();
      await sleep(1_000);
      return (await measures()) - before;
    };
    await expect.poll(duringASecond).toBe(0);
    expect(watch.exceeded()).toBe(false);
    const atRest = await measures();
    // The first question after a rest is followed by a measure.
    await redis.xadd(outboxKey(5), '*', 'a', '1');
    await redis.xadd(outboxKey(5), '*', 'a', '1');
    await expect.poll(measures, { interval: 10 }).toBeGreaterThan(atRest);
    await expect.poll(watch.exceeded, { interval: 10 }).toBe(true);
  } finally {
    watch.stop();
  }
});
