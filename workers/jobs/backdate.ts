import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { BackdatingEngine } from '../../src/engine/achievements/backdate.ts';
import { QUEUE_PREFIX } from '../../src/redis/keys.ts';

const BACKDATE_QUEUE = 'backdate';
/** How soon a request is taken up; requests must settle for longer than this anyway. */
const EVERY_MS = 1_000;
/** Between two steps: events go first. 200 users a step, so 10,000 users a second at most. */
const PAUSE_MS = 20;

/**
 * Works off the backdatings that stand in Postgres, one step after another. The job carries nothing: a lost one is
 * followed by the next. Returns what asks for the job again,
 * should Redis have lost it, and what ends it.
 */
export async function backdateWorker(options: {
  redis: Redis;
  engine: BackdatingEngine;
  log: Logger;
  ending: AbortSignal;
  /** See `EVERY_MS`. */
  everyMs?: number;
}): Promise<{ renew(): Promise<void>; close(): Promise<void> }> {
  const { redis, engine, log, ending, everyMs = EVERY_MS } = options;
  const connection = { connection: redis, prefix: QUEUE_PREFIX };
  const queue = new Queue(BACKDATE_QUEUE, connection);
  queue.on('error', () => undefined);
  const renew = async (): Promise<void> => {
    await queue.upsertJobScheduler(
      BACKDATE_QUEUE,
      { every: everyMs },
      { opts: { removeOnComplete: true, removeOnFail: 10 } },
    );
  };
  await renew();
  const worker = new Worker(
    BACKDATE_QUEUE,
    async () => {
      while (!ending.aborted && (await engine.step())) await sleep(PAUSE_MS);
    },
    { ...connection, concurrency: 1, lockDuration: 30_000 },
  );
  worker.on('failed', (_, error) => log.warn({ err: error }, 'backdating was interrupted; it goes on'));
  worker.on('error', (error) => log.warn({ err: error }, 'the backdating queue does not answer'));
  return {
    renew,
    close: async () => {
      await worker.close();
      await queue.close();
    },
  };
}
