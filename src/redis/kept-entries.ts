import type { Redis } from 'ioredis';
import { keptEntriesKey } from './keys.ts';

/*
Entries that were set aside and that Postgres does not even take as bytes. Postgres has a row about each
(`dead_letters.in_redis`); what is here without one, from a crash before its COMMIT, means nothing.
*/

/** Keeps an entry's fields (`packFields`) under its position. Idempotent. */
export async function keepEntry(redis: Redis, shard: number, position: string, fields: Buffer): Promise<void> {
  await redis.hset(keptEntriesKey(shard), position, fields);
}

/** The fields of one; null: they are not there. */
export const keptEntry = (redis: Redis, shard: number, position: string): Promise<Buffer | null> =>
  redis.hgetBuffer(keptEntriesKey(shard), position);

/** Lets one go. Idempotent. */
export async function forgetEntry(redis: Redis, shard: number, position: string): Promise<void> {
  await redis.hdel(keptEntriesKey(shard), position);
}
