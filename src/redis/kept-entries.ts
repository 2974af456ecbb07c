import type { Redis } from 'ioredis';
import { keptEntriesKey } from './keys.ts';

/*
Set-aside entries that Postgres refuses even as bytes. Each has a row in Postgres (`dead_letters.in_redis`). An entry
without a row, left by a crash before the COMMIT, has no meaning.
 */

/** Stores an entry's fields (`packFields`) under its position. Idempotent. */
export async function keepEntry(redis: Redis, shard: number, position: string, fields: Buffer): Promise<void> {
  await redis.hset(keptEntriesKey(shard), position, fields);
}

/** The fields of an entry, or `null`. */
export const keptEntry = (redis: Redis, shard: number, position: string): Promise<Buffer | null> =>
  redis.hgetBuffer(keptEntriesKey(shard), position);

/** Deletes an entry. Idempotent. */
export async function forgetEntry(redis: Redis, shard: number, position: string): Promise<void> {
  await redis.hdel(keptEntriesKey(shard), position);
}
