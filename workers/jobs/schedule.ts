import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { LogThrottle } from '../../src/log/log-throttle.ts';
import type { PassOutcome } from '../../src/engine/schedule/schedule.ts';
import { QUEUE_PREFIX } from '../../src/redis/keys.ts';

const SCHEDULE_QUEUE = 'schedule';
/** How late work is that falls due, at most, while nothing is in its way. */
const EVERY_MS = 1_000;
/** The same line is not logged again sooner. */
const REPEAT_MS = 10_000;

/**
 * Has what falls due done, about once a second. The job carries nothing: a lost one is followed by the next.
 * `pass` does some of the work; null where another process works. Returns what asks for a pass at once,
 * what asks for the job again, should Redis have lost it, and what ends it.
 */
export async function scheduleWorker(options: {
  redis: Redis;
  pass: () => Promise<PassOutcome | null>;
  log: Logger;
  ending: AbortSignal;
}): Promise<{ wake(): void; renew(): Promise<void>; close(): Promise<void> }> {
  const { redis, pass, log, ending } = options;
  const logThrottle = new LogThrottle(REPEAT_MS);
  const complain = (detail: object, message: string): void => {
    if (!ending.aborted) logThrottle.log('', () => log.error(detail, message));
  };
  // What fails is in the log by itself; a board that is being filled is no news.
  let heldUpSinceMs: number | null = null;
  let again = false;
  const passes = async (): Promise<void> => {
    let outcome: PassOutcome | null;
    do {
      again = false;
      outcome = await pass();
      if (outcome?.state !== 'held up') heldUpSinceMs = null;
      else {
        heldUpSinceMs ??= performance.now();
        if (performance.now() - heldUpSinceMs >= REPEAT_MS) complain({ by: outcome.by }, 'scheduled work is held up');
      }
    } while (!ending.aborted && (again || outcome?.state === 'more'));
  };
  let running: Promise<void> | null = null;
  const run = (): Promise<void> => {
    again = true;
    running ??= passes()
      .catch((error: unknown) => complain({ err: error }, 'the schedule was interrupted; it goes on'))
      .finally(() => void (running = null));
    return running;
  };

  const connection = { connection: redis, prefix: QUEUE_PREFIX };
  const queue = new Queue(SCHEDULE_QUEUE, connection);
  queue.on('error', () => undefined);
  const renew = async (): Promise<void> => {
    await queue.upsertJobScheduler(
      SCHEDULE_QUEUE,
      { every: EVERY_MS },
      { opts: { removeOnComplete: true, removeOnFail: 10 } },
    );
  };
  await renew();
  const worker = new Worker(SCHEDULE_QUEUE, run, { ...connection, concurrency: 1, lockDuration: 30_000 });
  worker.on('error', (error) => log.warn({ err: error }, 'the queue of the schedule does not answer'));
  return {
    wake: () => void run(),
    renew,
    close: async () => {
      await worker.close();
      await running;
      await queue.close();
    },
  };
}
