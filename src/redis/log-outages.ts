import type { Redis } from 'ioredis';
import { LogThrottle, OUTAGE_MS } from '../log/log-throttle.ts';
import type { Log } from '../log/log.ts';
import { endpointsOf } from './endpoints.ts';

/**
 * Logs problems with a connection's servers at a limited rate. The returned function does the same for another connection to the
 * first server.
 */
export function logOutages(redis: Redis, log: Log): (more: Redis) => void {
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
  const firstName = others.length === 0 ? '' : first!.name;
  watch(firstName, new Set([first!.redis, redis]));
  for (const { name, redis: server } of others) watch(name, [server]);
  return (more) => watch(firstName, [more]);
}
