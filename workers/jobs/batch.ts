import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { LogThrottle, OUTAGE_MS } from '../../src/telemetry/log.ts';
import type { BatchProcessor } from '../../src/engine/events/batch-processor.ts';
import { shardsWithBatches } from '../../src/redis/batches.ts';
import { isElsewhere } from '../../src/redis/outage.ts';
import { BATCH_QUEUE, type ShardJob } from '../../src/redis/wake-up.ts';
import { WAKE_UP_OPTIONS } from './wake-up-options.ts';
import { type Watched, watchShards } from '../watch.ts';

interface BatchWorkerOptions extends Watched {
  /** From `createPatientRedis`. The caller closes it, like the others. */
  queueRedis: Redis;
  processor: Pick<BatchProcessor, 'drain'>;
  log: Logger;
  /** Aborted when the process ends: the step under way is the last. */
  ending: AbortSignal;
}

/** The same line about a shard is not logged again sooner. */
const REPEAT_MS = 10_000;

/**
 * Processes batches: immediately when a wake-up comes, and otherwise when they are found (`watchShards`), whatever became of the wake-up or
 * of the worker that processed it. A failure leaves the batch where it is, partly applied or not; the next look continues it. Events of a
 * batch stay in their order, so an event that cannot be applied because of a fault of ours blocks its shard's batches: nothing is dropped.
 */
export function batchWorker({ queueRedis, processor, log, ending, ...watched }: BatchWorkerOptions): {
  close(): Promise<void>;
} {
  const logThrottle = new LogThrottle(REPEAT_MS);
  const complain = (shard: number, error: unknown): void =>
    logThrottle.log(shard, () =>
      log.error({ shard, err: error }, 'a batch of events cannot be processed further; it is tried again'),
    );
  const underWay = new Set<Promise<void>>();
  const drain = (shard: number): Promise<void> => {
    const draining = processor
      .drain(shard, ending)
      .catch((error: unknown) => complain(shard, error))
      .finally(() => underWay.delete(draining));
    underWay.add(draining);
    return draining;
  };

  const worker = new Worker<ShardJob>(BATCH_QUEUE, (job) => drain(job.data.shard), {
    connection: queueRedis,
    ...WAKE_UP_OPTIONS,
  });
  const outages = new LogThrottle(OUTAGE_MS);
  worker.on('error', (error) =>
    outages.log('', (suppressed) => log.warn({ err: error, suppressed }, 'the batch queue does not answer')),
  );

  const watch = watchShards({ ...watched, kind: 'batches' }, async (shards) => {
    try {
      const waiting = await shardsWithBatches(watched.redis, shards);
      if (!ending.aborted) for (const shard of waiting) void drain(shard);
      return waiting.length > 0;
    } catch (error) {
      // A shard that the cluster moves is looked at on its new node.
      if (!isElsewhere(error as Error)) complain(-1, error);
      return true;
    }
  });
  return {
    close: async () => {
      await watch.close();
      await worker.close();
      await Promise.all(underWay);
    },
  };
}
