import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { connectionOf, shardsInUse } from '../../../src/redis/endpoints.ts';
import { gateOf } from '../../../src/redis/gate.ts';
import type { TestLaurel } from '../../laurel.ts';

/**
 * Rebuilds the Redis of a running Laurel by hand, or all of them, over an unguarded connection, and waits until its frontend
 * has accepted the result.
 */
export const rebuildByHand = (laurel: TestLaurel, redis: Redis): Promise<void> =>
  untilTaken(laurel, () => rebuildServers({ redis, pool: laurel.pool }));

/**
 * Runs a function that gives Redis another epoch, and waits until the frontend works with it. The frontend checks Redis
 * periodically, may continue for a moment before it notices, and answers 503 while it checks. Waits for the shards that hold
 * a tenant (others are not checked soon), or for a given one.
 */
export async function untilTaken(laurel: TestLaurel, act: () => Promise<void>, shard?: number): Promise<void> {
  const shards = shard === undefined ? shardsInUse(laurel.redis) : [shard];
  const awaited = shards.map((each) => {
    const gate = gateOf(connectionOf(laurel.redis, each))!;
    return { gate, shard: each, before: gate.storageEpochOf(each) };
  });
  await act();
  await expect
    .poll(() => awaited.every(({ gate, shard: each, before }) => gate.isWhole && gate.storageEpochOf(each) !== before))
    .toBe(true);
}

/**
 * Begins a rebuild by hand that stops after its removals. Returns a function that continues it and waits until the frontend
 * has accepted the result.
 */
export async function rebuildThatStands(laurel: TestLaurel): Promise<() => Promise<void>> {
  const redis = await laurel.connect();
  await redisReady(redis);
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let rebuilt = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    const onProgress = async ({ step }: { step: string }): Promise<void> => {
      if (step !== 'users') return;
      resolve();
      await released;
    };
    rebuilt = untilTaken(laurel, () => rebuildServers({ redis, pool: laurel.pool, onProgress }));
    rebuilt.catch(reject);
  });
  return async () => {
    release();
    await rebuilt;
    redis.disconnect();
  };
}
