import type { Redis } from 'ioredis';
import { FAILED_WORK_KEY } from './keys.ts';

/** Counts a failure of scheduled work, for the metrics of all frontends. */
export async function countFailedWork(redis: Redis, kind: string): Promise<void> {
  await redis.hincrby(FAILED_WORK_KEY, kind, 1);
}

/** How often each kind of scheduled work failed; kinds that never did are missing. A Redis that is rebuilt counts on. */
export async function failedWork(redis: Redis): Promise<Map<string, number>> {
  const counts = Object.entries(await redis.hgetall(FAILED_WORK_KEY));
  return new Map(counts.map(([kind, count]) => [kind, Number(count)]));
}
