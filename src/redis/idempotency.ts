import type { Redis } from 'ioredis';
import { connectionOf } from './endpoints.ts';
import { idempotencyKey, shardOf } from './keys.ts';

/**
 * A bucket holds beside a field the time (epoch ms) in the ID of the event that used the key; plus this, where the rest of
 * the ID was made with the installation's secret. No time comes near it: it is in the year 6429. Scripts know it
 * as `USE.bySecret`.
 */
export const BY_SECRET = 2 ** 47;

/** The time (epoch ms) in the ID of the event of a use. */
export const timeOfUse = (use: number): number => use % BY_SECRET;

/** Where it is kept that an idempotency key is used. */
export interface UsedKey {
  bucket: string;
  field: string;
}

/**
 * The field under which a user of a generation (`g` of the packed state; undefined: the first) keeps a used key:
 * after a deletion users are of the next generation, so that a new user under the same ID finds no key used.
 * `lua/lib/generation.lua` knows the same rule.
 */
export const fieldOfGeneration = (field: string, generation: number | undefined): string =>
  generation === undefined ? field : `${field}.${generation}`;

const DIGEST_LENGTH = 16;

/** What a field has of the key itself, whatever the user's generation. */
export const fieldOfDigest = (field: string): string => field.slice(0, DIGEST_LENGTH);

const CHUNK = 1000;

/** Removes used keys. Idempotent. */
export async function forgetUsedKeys(redis: Redis, tenantNo: number, keys: readonly UsedKey[]): Promise<void> {
  for (let from = 0; from < keys.length; from += CHUNK) {
    const pipeline = connectionOf(redis, shardOf(tenantNo)).pipeline();
    for (const { bucket, field } of keys.slice(from, from + CHUNK))
      pipeline.hdel(idempotencyKey(tenantNo, bucket), field);
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }
}
