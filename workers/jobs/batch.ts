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
import { shardsInUse } from '../../src/redis/shards-in-use.ts';
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
  /** See `BACKSTOP_MS`. */
  backstopMs?: number;
}

const LOOK_MS = 1000;
/** How often is looked while no batch waits, should the blocking read miss one. */
const BACKSTOP_MS = 10_000;
/** So many times as seldom at shards that are not known to be in use: a look at all is 256 small commands. */
const BACKSTOPS_A_LOOK_AT_ALL = 6;
/** The same line about a shard is not logged again sooner. */
const REPEAT_MS = 10_000;

/**
 * Has batches processed: at once when a wake-up comes, and while any waits by a look once a second, whatever became of its
 * wake-up or of the worker that processed it. While none waits a blocking read ends with the first one, which is looked at
 * a second later. A failure leaves the batch where it is, in part applied or not;
 * the next look goes on with it. Events of a batch stay in their order, so one that cannot be applied for a fault of
 * ours holds up its shard's batches: nothing is dropped.
 */
export function batchWorker({
  redis,
  queueRedis,
  processor,
  log,
  ending,
  backstopMs = BACKSTOP_MS,
}: BatchWorkerOptions): { close(): Promise<void> } {
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
    const onServer = (shards: readonly number[]): number[] =>
      shards.filter((shard) => connectionOf(redis, shard) === server);
    let allLookedAtMs = -Infinity;
    /** Whether any waits. */
    const look = async (): Promise<boolean> => {
      try {
        const isAll = performance.now() - allLookedAtMs >= BACKSTOPS_A_LOOK_AT_ALL * backstopMs;
        if (isAll) allLookedAtMs = performance.now();
        const shards = await shardsWithBatches(server, onServer(isAll ? SHARD_NUMBERS : shardsInUse(redis)));
        for (const shard of shards) void drain(shard);
        return shards.length > 0;
      } catch (error) {
        complain(-1, error);
        return true;
      }
    };
    const arrivals = new Arrivals(server, () => onServer(shardsInUse(redis)).map(batchesKey));
    const stopFollowing = onPlaced(redis, () => arrivals.again());
    while (!ended.aborted) {
      if (!(await look())) await arrivals.wait(backstopMs, ended);
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
