import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { LogThrottle, OUTAGE_MS } from '../../src/telemetry/log.ts';
import { type Persister, StuckShard } from '../../src/engine/persist/persister.ts';
import { PERSIST_QUEUE, type ShardJob } from '../../src/redis/wake-up.ts';
import { WAKE_UP_OPTIONS } from './wake-up-options.ts';

interface PersistWorkerOptions {
  /** From `createPatientRedis`; it stays the caller's to close. */
  redis: Redis;
  persister: Pick<Persister, 'drain'>;
  log: Logger;
  /** Aborted when the process ends: what is left is stored without pauses. */
  ending: AbortSignal;
}

/**
 * Answers wake-ups: each job empties one shard's outbox into Postgres. A busy shard's job goes on as long as
 * events come, so that under load there is no job an event, nor one a batch. Nothing depends on a job: a failed,
 * lost or stalled one is only a wake-up less (see `watch.ts`).
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
        // The watch speaks of it until it is mended.
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
