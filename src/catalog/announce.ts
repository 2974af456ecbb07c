import type { Redis } from 'ioredis';
import { CHANGES_CHANNEL } from '../redis/keys.ts';

/**
 * Publishes a change, after its commit: `<tenant no>:<version>` for a catalog, `*` for keys, tenants or the
 * organisation. Never rejects, for the change is stored already: a process that misses it finds it by `Changes`' poll.
 */
export async function announce(redis: Redis, message: string): Promise<void> {
  await redis.publish(CHANGES_CHANNEL, message).catch(() => undefined);
}
