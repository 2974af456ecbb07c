import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { LogThrottle, OUTAGE_MS } from '../../src/telemetry/log.ts';
import { type Persister, StuckShard } from '../../src/engine/persist/persister.ts';
import { PERSIST_QUEUE, type ShardJob } from '../../src/redis/wake-up.ts';
import { WAKE_UP_OPTIONS } from './wake-up-options.ts';

interface PersistWorkerOptions {
  redis: Redis;
  persister: Pick<Persister, 'drain'>;
  log: Logger;
  /** Aborted when the process ends. The rest is then stored without pauses. */
  ending: AbortSignal;
}

/**
 * Answers wake-ups: each job stores one shard's outbox in Postgres. A busy shard's job continues as long as events arrive,
 * so under load there is not one job per event or batch. Nothing depends on a job: a failed, lost or stalled job is only a
 * lost wake-up (see `watch.ts`).
 */
export function persistWorker({ redis, persister, log, ending }: PersistWorkerOptions): Worker<ShardJob> {
  let stored = false;
  const worker = new Worker<ShardJob>(
    PERSIST_QUEUE,
    async (job) => {
      try {
        const entries = await persister.drain(job.data.shard, ending);
        if (entries > 0 && !stored) log.info({ entries }, 'the first entries since the start are stored in Postgres');
        stored ||= entries > 0;
      } catch (error) {
        // `watchOutbox` reports it until it is resolved.
        if (!(error instanceof StuckShard)) throw error;
      }
    },
    { connection: redis, ...WAKE_UP_OPTIONS },
  );
  const outages = new LogThrottle(OUTAGE_MS);
  worker.on('failed', (job, error) =>
    outages.log('job', (suppressed) =>
      log.warn({ shard: job?.data.shard, err: error, suppressed }, 'persisting was interrupted'),
    ),
  );
  worker.on('error', (error) =>
    outages.log('queue', (suppressed) => log.warn({ err: error, suppressed }, 'the persist queue does not answer')),
  );
  return worker;
}
