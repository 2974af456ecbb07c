import type { Redis } from 'ioredis';
import { repliesOf } from './commands.ts';
import { connectionOf } from './endpoints.ts';
import { idempotencyKey, type TenantPart } from './keys.ts';

/**
 * Hot keys are stored in buckets. A tenant has 8,192 wide buckets, so that a small tenant has few, well-filled ones. A tenant is
 * large once a bucket holds `wideKeys`: new keys then go to one of the `narrow` buckets beside each wide one, which keeps
 * searches short. A bucket of more than 512 keys would cost Redis 100 bytes per key instead of 28.
 * `note`: rebuild command that records a use. Arguments: key of the tenant's old keys, key of the wide bucket, field, use.
 */
export const USED = { wideKeys: 128, narrow: 8, note: 'note_use' } as const;

/** Digits behind the time of a use: a digest of the event's body. Redis packs all 18 digits as one integer of 8 bytes. */
const BODY_DIGITS = 5;
/** The digest of an unknown body, for example after a rebuild. */
export const UNKNOWN_BODY = '0'.repeat(BODY_DIGITS);

/** The use of a key, as stored in Redis. `atMs`: the time in the event's ID; `body`: `bodyDigest` or `UNKNOWN_BODY`. */
export const packedUse = (atMs: number | string, body: string): string => `${atMs}${body}`;

/** The time of a packed use, as text of epoch ms. */
export const timeOfUse = (use: string): string => use.slice(0, -BODY_DIGITS);

/** Whether a replay certainly has another body. `first`: packed use; `replay`: packed use or digest. */
export function isOtherBody(first: string, replay: string): boolean {
  const body = first.slice(-BODY_DIGITS);
  return body !== UNKNOWN_BODY && body !== replay.slice(-BODY_DIGITS);
}

/** Digest (FNV-1a) of an event's body: 5 digits, never `UNKNOWN_BODY`. A collision only misses a hint. */
export function bodyDigest(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return String(1 + ((hash >>> 0) % (10 ** BODY_DIGITS - 1))).padStart(BODY_DIGITS, '0');
}

const WIDE_BUCKET = /^.*:i:[0-9a-f]{4}/;

/** The key of the wide bucket, from itself or one of its narrow ones. */
export const wideBucket = (key: string): string => WIDE_BUCKET.exec(key)?.[0] ?? key;

/** The key of a field's narrow bucket. `lua/lib/idempotency_keys.lua` has the same rule. */
export const narrowBucket = (key: string, field: string): string => `${key}${field.charCodeAt(0) % USED.narrow}`;

/** Time (epoch ms, text) in a hot key's event ID; `null` if it is not hot. `key`: either bucket. */
export async function hotUse(redis: Redis, key: string, field: string): Promise<string | null> {
  const wide = wideBucket(key);
  const use = (await redis.hget(narrowBucket(wide, field), field)) ?? (await redis.hget(wide, field));
  return use === null ? null : timeOfUse(use);
}

/** Where a used idempotency key is stored. */
export interface UsedKey {
  bucket: string;
  field: string;
}

/**
 * The field of a used key for a user's generation (`g` of the packed state; `undefined` for the first). Deleting a user starts
 * the next generation, so a new user with the same ID finds no used keys. `lua/read.lua` has the same rule.
 */
export const fieldOfGeneration = (field: string, generation: number | undefined): string =>
  generation === undefined ? field : `${field}.${generation}`;

const DIGEST_LENGTH = 16;

/** The digest of the key in a field, without the generation. */
export const fieldOfDigest = (field: string): string => field.slice(0, DIGEST_LENGTH);

const CHUNK = 1000;

export async function forgetUsedKeys(redis: Redis, part: TenantPart, keys: readonly UsedKey[]): Promise<void> {
  for (let from = 0; from < keys.length; from += CHUNK) {
    const pipeline = connectionOf(redis, part.shard).pipeline();
    for (const { bucket, field } of keys.slice(from, from + CHUNK)) {
      const wide = idempotencyKey(part, bucket);
      for (const key of [wide, narrowBucket(wide, field)]) pipeline.hdel(key, field);
    }
    await repliesOf(pipeline);
  }
}
