import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { rebuildAnyway } from '../../../src/engine/rebuild/accept.ts';
import { gateOf } from '../../../src/redis/gate.ts';
import type { TestLaurel } from '../../laurel.ts';

/**
 * Rebuilds the Redis of a running Laurel by hand, over a connection that nobody guards, and waits until its frontend has
 * taken what was rebuilt.
 */
export const rebuildByHand = (laurel: TestLaurel, redis: Redis): Promise<void> =>
  untilTaken(laurel, () => rebuildAnyway({ redis, pool: laurel.pool }));

/**
 * Does what gives Redis another epoch, and waits until the frontend of this Laurel works with that: it looks at Redis
 * every now and then, may go on for a moment before it notices, and answers 503 while it looks.
 */
export async function untilTaken(laurel: TestLaurel, act: () => Promise<void>): Promise<void> {
  const gate = gateOf(laurel.redis)!;
  const before = gate.fenceOf(0);
  await act();
  await expect.poll(() => gate.isWhole && gate.fenceOf(0) !== before).toBe(true);
}
