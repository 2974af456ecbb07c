import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { LogThrottle, OUTAGE_MS } from '../../src/log/log-throttle.ts';
import type { BatchProcessor } from '../../src/engine/batches/batch-processor.ts';
import { Arrivals } from '../../src/redis/arrivals.ts';
import { shardsWithBatches } from '../../src/redis/batches.ts';
import { connectionOf, endpointsOf, onPlaced } from '../../src/redis/endpoints.ts';
import { batchesKey, SHARD_NUMBERS } from '../../src/redis/keys.ts';
import { BATCH_QUEUE, type ShardJob } from '../../src/redis/wake-up.ts';
import { WAKE_UP_OPTIONS } from '../wake-up-options.ts';

interface BatchWorkerOptions {
  /** From `createRedis`: for looking at what waits. */
  redis: Redis;
  /** From `createPatientRedis`; both stay the caller's to close. */
  queueRedis: Redis;
  processor: Pick<BatchProcessor, 'drain'>;
  log: Logger;
  /** Aborted when the process ends: the step under way is the last. */
  ending: AbortSignal;
  /** See `BLOCK_MS`. */
  blockMs?: number;
}

const LOOK_MS = 1000;
/** How long one read of the queues blocks while they are empty. */
const BLOCK_MS = 10_000;
/** The same line about a shard is not logged again sooner. */
const REPEAT_MS = 10_000;

/**
 * Has batches processed: at once when a wake-up comes, and while any waits by a look once a second, whatever became of its
 * wake-up or of the worker that processed it. While none waits a blocking read ends with the first one, which is looked at
 * a second later. A failure leaves the batch where it is, in part applied or not;
 * the next look goes on with it. Events of a batch stay in their order, so one that cannot be applied for a fault of
 * ours holds up its shard's batches: nothing is dropped.
 */
export function batchWorker({ redis, queueRedis, processor, log, ending, blockMs = BLOCK_MS }: BatchWorkerOptions): {
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

  const closing = new AbortController();
  const ended = AbortSignal.any([ending, closing.signal]);
  const watchServer = async (server: Redis): Promise<void> => {
    const ownShards = (): number[] => SHARD_NUMBERS.filter((shard) => connectionOf(redis, shard) === server);
    /** Whether any waits. */
    const look = async (): Promise<boolean> => {
      try {
        const shards = await shardsWithBatches(server, ownShards());
        for (const shard of shards) void drain(shard);
        return shards.length > 0;
      } catch (error) {
        complain(-1, error);
        return true;
      }
    };
    const arrivals = new Arrivals(server, () => ownShards().map(batchesKey));
    const stopFollowing = onPlaced(redis, () => arrivals.again());
    while (!ended.aborted) {
      if (!(await look())) await arrivals.wait(blockMs, ended);
      await sleep(LOOK_MS, undefined, { signal: ended }).catch(() => undefined);
    }
    stopFollowing();
    arrivals.close();
  };
  // Each server by itself: one that is away holds up none of the others.
  const running = Promise.all(endpointsOf(redis).map((endpoint) => watchServer(endpoint.redis)));
  return {
    close: async () => {
      closing.abort();
      await running;
      await worker.close();
      await Promise.all(underWay);
    },
  };
}
