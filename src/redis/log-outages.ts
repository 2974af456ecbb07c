import type { Redis } from 'ioredis';
import { LogThrottle, OUTAGE_MS } from '../log/log-throttle.ts';
import type { Log } from '../log/log.ts';
import { endpointsOf } from './endpoints.ts';

/** Logs problems with a connection's servers, and with more connections to the first one, at a limited rate. */
export function logOutages(redis: Redis, log: Log, more: readonly Redis[] = []): void {
  const throttle = new LogThrottle(OUTAGE_MS);
  const [first, ...others] = endpointsOf(redis);
  const watch = (name: string, connections: Iterable<Redis>): void => {
    for (const connection of connections) {
      connection.on('error', (error) =>
        throttle.log(name, () =>
          log.warn({ err: error, ...(name !== '' && { redis: name }) }, 'Redis does not answer'),
        ),
      );
    }
  };
  watch(others.length === 0 ? '' : first!.name, new Set([first!.redis, redis, ...more]));
  for (const { name, redis: server } of others) watch(name, [server]);
}
