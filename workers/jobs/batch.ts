import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { LogThrottle, OUTAGE_MS } from '../../src/telemetry/log.ts';
import type { BatchProcessor } from '../../src/engine/events/batch-processor.ts';
import { shardsWithBatches } from '../../src/redis/batches.ts';
import { BATCH_QUEUE, type ShardJob } from '../../src/redis/wake-up.ts';
import { WAKE_UP_OPTIONS } from './wake-up-options.ts';
import { type Watched, watchShards } from '../watch.ts';

interface BatchWorkerOptions extends Watched {
  /** From `createPatientRedis`. The caller closes it, like the others. */
  queueRedis: Redis;
  processor: Pick<BatchProcessor, 'drain'>;
  /** Aborted when the process ends. The step in progress is the last. */
  ending: AbortSignal;
}

const REPEAT_MS = 10_000;

/**
 * Processes batches on wake-ups, and otherwise when `watchShards` finds them, whether or not a wake-up was lost or its
 * worker died. After a failure the batch stays, possibly partly applied, and the next check continues it. Events of a batch
 * keep their order, so an internal error blocks the shard's batches rather than dropping an event.
 */
export function batchWorker({ queueRedis, processor, ending, ...watched }: BatchWorkerOptions): {
  close(): Promise<void>;
} {
  const { log } = watched;
  const logThrottle = new LogThrottle(REPEAT_MS);
  const complain = (shard: number, error: unknown): void =>
    logThrottle.log(shard, () => log.error({ shard, err: error }, 'a batch of events failed; it will be retried'));
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
    const waiting = await shardsWithBatches(watched.redis, shards);
    if (!ending.aborted) for (const shard of waiting) void drain(shard);
    return waiting.length > 0;
  });
  return {
    close: async () => {
      await watch.close();
      await worker.close();
      await Promise.all(underWay);
    },
  };
}
