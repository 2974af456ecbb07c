import type { Redis } from 'ioredis';
import { decodeUser } from '../../../src/rules/user-codec.ts';
import { packedUse, timeOfUse, UNKNOWN_BODY } from '../../../src/redis/idempotency.ts';
import { keysOf } from '../../stack/all-servers.ts';

/** Keys that are not derived from Postgres, or differ after a rebuild. */
const LEFT_OUT = /:(outbox|handed|handed-up-to|awaited|sweep|mark|rebuilding|batches|batch-results:.*)$/;

/** All of Laurel's data on the servers, key → value, in a fixed order. */
export async function dump(redis: Redis): Promise<Record<string, unknown>> {
  const keys = (await keysOf(redis, '{s[0-9]*}:*')).filter((key) => !LEFT_OUT.test(key)).toSorted();
  const entries = await Promise.all(keys.map(async (key) => [key, await valueOf(redis, key)] as const));
  return Object.fromEntries(entries);
}

async function valueOf(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  if (type === 'hash') {
    const fields = await redis.hgetall(key);
    if (!key.includes(':i:')) return fields;
    // Postgres does not know the digests of the bodies.
    return Object.fromEntries(
      Object.entries(fields).map(([field, use]) => [field, packedUse(timeOfUse(use), UNKNOWN_BODY)]),
    );
  }
  if (type === 'set') return (await redis.smembers(key)).toSorted();
  if (type === 'zset') return (await redis.zrange(key, '0', '-1', 'WITHSCORES')).flat().map(String);
  const bytes = (await redis.getBuffer(key))!;
  return key.includes(':u:') ? decodeUser(bytes) : bytes.toString();
}
