import type { Redis } from 'ioredis';
import { LogThrottle, OUTAGE_MS } from '../log/log-throttle.ts';
import type { Log } from '../log/log.ts';
import { isOfCluster, onServer } from './endpoints.ts';

/**
 * Logs problems with a connection's servers at a limited rate. The returned function does the same for another connection for what
 * belongs to no shard.
 */
export function logOutages(redis: Redis, log: Log): (more: Redis) => void {
  const throttle = new LogThrottle(OUTAGE_MS);
  const watch = (name: string, connection: Redis): void =>
    void connection.on('error', (error) =>
      throttle.log(name, () => log.warn({ err: error, ...(name !== '' && { redis: name }) }, 'Redis does not answer')),
    );
  const isCluster = isOfCluster(redis);
  onServer(redis, (server) => watch(isCluster ? server.name : '', server.redis));
  if (isCluster) watch('', redis);
  return (more) => watch('', more);
}
