import type { WorkerOptions } from 'bullmq';
import { QUEUE_PREFIX, SHARDS } from '../../src/redis/keys.ts';

export const WAKE_UP_OPTIONS = {
  prefix: QUEUE_PREFIX,
  concurrency: SHARDS,
  // A wake-up ends the blocking read immediately. Each repetition costs ten commands. BullMQ's maximum.
  drainDelay: 10,
  // A killed worker blocks its shards' wake-ups until its job counts as stalled.
  lockDuration: 10_000,
  stalledInterval: 5_000,
  maxStalledCount: 10,
  // Delay after a broken connection. The default of 15 s would also delay the end of the process.
  runRetryDelay: 1_000,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 100 },
} satisfies Omit<WorkerOptions, 'connection'>;
