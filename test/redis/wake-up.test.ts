import { Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { QUEUE_PREFIX } from '../../src/redis/keys.ts';
import { PERSIST_QUEUE, WakeUp, type ShardJob } from '../../src/redis/wake-up.ts';
import { testStack } from '../stack/stack.ts';
import { opened } from '../stack/opened.ts';

let queue: Queue<ShardJob>;

const stack = opened(() => testStack({ database: 'none' }));
const redis = opened(() => createRedis(stack.redisUrl), 'disconnect');
beforeAll(async () => {
  await redisReady(redis);
  queue = new Queue(PERSIST_QUEUE, { connection: redis, prefix: QUEUE_PREFIX });
});

afterAll(async () => {
  await queue.close();
});

const waiting = async (): Promise<number[]> =>
  (await queue.getWaiting()).map((job) => job.data.shard).sort((a, b) => a - b);

describe('wake-ups', () => {
  test('a thousand touches of a shard are one waiting job', async () => {
    const wakeUp = new WakeUp(redis);
    for (let n = 0; n < 1000; n++) {
      wakeUp.touched(1);
      wakeUp.touched(2);
    }
    await wakeUp.close();
    expect(await waiting()).toEqual([1, 2]);
    await queue.drain();
  });

  test('reports a touch right after another a moment later', async () => {
    const wakeUp = new WakeUp(redis);
    wakeUp.touched(3);
    await expect.poll(waiting).toEqual([3]);
    await queue.drain();
    wakeUp.touched(3);
    await expect.poll(waiting).toEqual([3]);
    await wakeUp.close();
    await queue.drain();
  });

  test('a wake-up sent before its connection is open still wakes', async () => {
    const fresh = createRedis(stack.redisUrl);
    const wakeUp = new WakeUp(fresh);
    await redisReady(fresh);
    // Gives a connection that is used too early time to report it.
    await new Promise((resolve) => setTimeout(resolve, 50));
    wakeUp.touched(5);
    await expect.poll(waiting).toEqual([5]);
    await wakeUp.close();
    fresh.disconnect();
    await queue.drain();
  });

  test('nothing fails and nothing waits while Redis is unavailable', async () => {
    const away = createRedis('redis://127.0.0.1:1');
    away.on('error', () => undefined);
    const wakeUp = new WakeUp(away);
    expect(wakeUp.touched(4)).toBeUndefined();
    wakeUp.touched(4);
    await expect(wakeUp.close()).resolves.toBeUndefined();
    away.disconnect();
  });
});
