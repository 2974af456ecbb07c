import type { Redis } from 'ioredis';
import { FAILED_WORK_KEY } from './keys.ts';

/** Counts a failure of scheduled work for the metrics, which every frontend exports. */
export async function countFailedWork(redis: Redis, kind: string): Promise<void> {
  await redis.hincrby(FAILED_WORK_KEY, kind, 1);
}

/** Failures per kind of scheduled work; kinds without failures are missing. Rebuilds of Redis keep the counts. */
export async function failedWork(redis: Redis): Promise<Map<string, number>> {
  const counts = Object.entries(await redis.hgetall(FAILED_WORK_KEY));
  return new Map(counts.map(([kind, count]) => [kind, Number(count)]));
}
