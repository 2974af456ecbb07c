import type { Redis } from 'ioredis';
import { type Log, LogThrottle } from '../../telemetry/log.ts';
import { countFailedWork } from '../../redis/work-counts.ts';

/** An error that affects every notification of a batch is logged once in this interval. */
const LOG_EVERY_MS = 60_000;

/** Counts notifications that could not be made, for the metrics, and logs the errors. */
export function leftOut(redis: Redis, log: Pick<Log, 'error'>): (error: unknown) => void {
  const throttle = new LogThrottle(LOG_EVERY_MS);
  return (error) => {
    countFailedWork(redis, 'notifications').catch(() => undefined);
    throttle.log('notifications', (suppressed) =>
      log.error({ err: error, suppressed }, 'A notification could not be made; everything else is stored'),
    );
  };
}
