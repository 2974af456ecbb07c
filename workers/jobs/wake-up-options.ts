import type { WorkerOptions } from 'bullmq';
import { QUEUE_PREFIX, SHARDS } from '../../src/redis/keys.ts';

/** How BullMQ's workers take wake-ups, see `src/redis/wake-up.ts`. */
export const WAKE_UP_OPTIONS = {
  prefix: QUEUE_PREFIX,
  concurrency: SHARDS,
  // A wake-up ends the blocking read at once; without one it is made again, which costs ten commands. BullMQ allows no more.
  drainDelay: 10,
  // A killed worker holds the wake-ups of its shards back until its job is taken from it.
  lockDuration: 10_000,
  stalledInterval: 5_000,
  maxStalledCount: 10,
  // After a connection broke; 15 s by default, which the end of a process would wait for as well.
  runRetryDelay: 1_000,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 100 },
} satisfies Omit<WorkerOptions, 'connection'>;
