import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { QUEUE_PREFIX } from '../src/redis/keys.ts';

/** How soon a request is taken up; requests must settle for longer than this anyway. */
const EVERY_MS = 1_000;
/** Between two steps: events go first. 200 users a step, so 10,000 users a second at most. */
const PAUSE_MS = 20;

export interface StepwiseOptions {
  redis: Redis;
  /** `step` does a bounded part of what is asked for in Postgres; false: there is nothing to do. */
  engine: { step(): Promise<boolean> };
  log: Logger;
  ending: AbortSignal;
  /** See `EVERY_MS`. */
  everyMs?: number;
}

/**
 * Works off requests that Postgres holds, one step after another. The job carries nothing: a lost one is followed
 * by the next. `what` is said of it in the log. Returns what asks for the job again, should Redis have lost it, and
 * what ends it.
 */
export async function stepwiseWorker(
  { name, what }: { name: string; what: string },
  { redis, engine, log, ending, everyMs = EVERY_MS }: StepwiseOptions,
): Promise<{ renew(): Promise<void>; close(): Promise<void> }> {
  const connection = { connection: redis, prefix: QUEUE_PREFIX };
  const queue = new Queue(name, connection);
  queue.on('error', () => undefined);
  const renew = async (): Promise<void> => {
    await queue.upsertJobScheduler(name, { every: everyMs }, { opts: { removeOnComplete: true, removeOnFail: 10 } });
  };
  await renew();
  const worker = new Worker(
    name,
    async () => {
      while (!ending.aborted && (await engine.step())) await sleep(PAUSE_MS);
    },
    { ...connection, concurrency: 1, lockDuration: 30_000 },
  );
  worker.on('failed', (_, error) => log.warn({ err: error }, `${what} was interrupted; it goes on`));
  worker.on('error', (error) => log.warn({ err: error }, `the queue for ${what} does not answer`));
  return {
    renew,
    close: async () => {
      await worker.close();
      await queue.close();
    },
  };
}
