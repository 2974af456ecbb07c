import type { Redis } from 'ioredis';

/**
 * Has a connection made again, to where the name, or the Sentinels, lead now. One that is being made already is left alone: while it
 * asks the Sentinels, the client would end it for good.
 */
export function connectAgain(redis: Redis): void {
  if (redis.status === 'ready' || redis.status === 'connect') redis.disconnect(true);
}
