import type { Redis } from 'ioredis';
import { awaitedKey, sweepKey } from './keys.ts';

/*
A sweep writes as much to the outbox in a minute as events do in an hour. Nobody waits for Postgres to store it, and storing it
immediately would take CPU from events. So persisters wait until the sweep ends, unless a caller waits for them. Both keys are
hints that expire; a lost one only costs time.
 */

/** A sweep that does not renew its key within this time has ended or died. */
const SWEEP_MS = 3_000;
/** After one caller waited, others probably will. */
const AWAITED_MS = 10_000;

/** Records that a sweep is in progress on a shard. */
export async function noteSweep(redis: Redis, shard: number): Promise<void> {
  await redis.set(sweepKey(shard), '1', 'PX', SWEEP_MS);
}

/** Records that the sweep ended. */
export async function noteSweepEnd(redis: Redis, shard: number): Promise<void> {
  await redis.del(sweepKey(shard));
}

/** Records that a caller waits for Postgres to store the shard's outbox. */
export async function noteAwaited(redis: Redis, shard: number): Promise<void> {
  await redis.set(awaitedKey(shard), '1', 'PX', AWAITED_MS);
}

/** Whether storing a shard's outbox should wait. */
export async function isStoredLater(redis: Redis, shard: number): Promise<boolean> {
  const [sweep, awaited] = await redis.mget(sweepKey(shard), awaitedKey(shard));
  return sweep !== null && awaited === null;
}
