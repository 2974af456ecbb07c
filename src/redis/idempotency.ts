import type { Redis } from 'ioredis';
import { connectionOf } from './endpoints.ts';
import { idempotencyKey, shardOf } from './keys.ts';

/**
 * Hot keys are in buckets. A tenant has 8,192 wide ones, so that a small one has few, each well filled. Once one of them holds `wideKeys` the tenant
 * is large: then each wide bucket has `narrow` beside it, where keys go from then on, so that none is long to search.
 * A bucket of more than 512 would take Redis 100 bytes a key instead of 28.
 * `note`: among the commands of a rebuild, what stands for one that notes a use: key of the tenant's old keys, of the wide bucket, field, use.
 */
export const USED = { wideKeys: 128, narrow: 8, note: 'note_use' } as const;

const WIDE_BUCKET = /^.*:i:[0-9a-f]{4}/;

/** The key of the wide bucket, by itself or one of its narrow ones. */
export const wideBucket = (key: string): string => WIDE_BUCKET.exec(key)?.[0] ?? key;

/** The key of the narrow bucket of a field beside its wide one. `lua/lib/used_keys.lua` knows the same rule. */
export const narrowBucket = (key: string, field: string): string => `${key}${field.charCodeAt(0) % USED.narrow}`;

/** The time (epoch ms, as text) in the ID of the event that used a hot key; `null` if the key is not hot. `key`: of its wide bucket, or of the one it is in. */
export async function hotUse(redis: Redis, key: string, field: string): Promise<string | null> {
  const wide = wideBucket(key);
  return (await redis.hget(narrowBucket(wide, field), field)) ?? redis.hget(wide, field);
}

/** Where it is kept that an idempotency key is used. */
export interface UsedKey {
  /** 4 hex digits: the number of its wide bucket. */
  bucket: string;
  field: string;
}

/**
 * The field under which a user of a generation (`g` of the packed state; undefined: the first) keeps a used key:
 * after a deletion users are of the next generation, so that a new user under the same ID finds no key used.
 * `lua/lib/users.lua` knows the same rule.
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
    for (const { bucket, field } of keys.slice(from, from + CHUNK)) {
      const wide = idempotencyKey(tenantNo, bucket);
      for (const key of [wide, narrowBucket(wide, field)]) pipeline.hdel(key, field);
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }
}
