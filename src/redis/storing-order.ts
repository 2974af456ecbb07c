import type { Redis } from 'ioredis';
import { awaitedKey, sweepKey } from './keys.ts';

/*
A sweep writes as much to the outbox in a minute as events do in an hour. Nobody waits for it to be stored, and storing it
at the same time takes from events the CPU that they need. So persisters wait for the end of a sweep, unless a caller waits
for them. Both are hints, which end by themselves: a lost one costs time and nothing else.
*/

/** A sweep that does not say so again for so long has ended, or died. */
const SWEEP_MS = 3_000;
/** After a caller waited, others are likely to. */
const AWAITED_MS = 10_000;

/** Says that a sweep goes on at a shard. */
export async function noteSweep(redis: Redis, shard: number): Promise<void> {
  await redis.set(sweepKey(shard), '1', 'PX', SWEEP_MS);
}

/** Says that it does not. */
export async function noteSweepEnd(redis: Redis, shard: number): Promise<void> {
  await redis.del(sweepKey(shard));
}

/** Says that a caller waits for what the shard's outbox holds to be stored. */
export async function noteAwaited(redis: Redis, shard: number): Promise<void> {
  await redis.set(awaitedKey(shard), '1', 'PX', AWAITED_MS);
}

/** Whether what a shard's outbox holds is better stored later. */
export async function isStoredLater(redis: Redis, shard: number): Promise<boolean> {
  const [sweep, awaited] = await redis.mget(sweepKey(shard), awaitedKey(shard));
  return sweep !== null && awaited === null;
}
