import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { rebuildServers } from '../../../src/engine/rebuild/rebuild-servers.ts';
import { endpointsOf } from '../../../src/redis/endpoints.ts';
import { gateOf } from '../../../src/redis/gate.ts';
import type { TestLaurel } from '../../laurel.ts';

/**
 * Rebuilds the Redis of a running Laurel by hand, or all of them, over a connection that nobody guards, and waits until its frontend
 * has taken what was rebuilt.
 */
export const rebuildByHand = (laurel: TestLaurel, redis: Redis): Promise<void> =>
  untilTaken(laurel, () => rebuildServers({ redis, pool: laurel.pool }));

/**
 * Does what gives Redis another epoch, and waits until the frontend of this Laurel works with that: it looks at Redis
 * every now and then, may go on for a moment before it notices, and answers 503 while it looks. `shard`: only the server that it is on
 * is waited for, else all of them.
 */
export async function untilTaken(laurel: TestLaurel, act: () => Promise<void>, shard?: number): Promise<void> {
  const servers = endpointsOf(laurel.redis).filter(({ shards }) => shard === undefined || shards.includes(shard));
  const awaited = servers.map(({ redis, shards }) => {
    const gate = gateOf(redis)!;
    return { gate, first: shards[0]!, before: gate.fenceOf(shards[0]!) };
  });
  await act();
  await expect
    .poll(() => awaited.every(({ gate, first, before }) => gate.isWhole && gate.fenceOf(first) !== before))
    .toBe(true);
}
