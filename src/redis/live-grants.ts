import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { liveGrantKey, liveGrantsKey } from './keys.ts';

/** A ticket opens one stream. A session lets the stream's client reconnect. */
type GrantKind = Parameters<typeof liveGrantKey>[0];

/** Redis holds only digests of secrets, so that reading Redis does not allow opening streams. */
const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');
const keyOf = (kind: GrantKind, secret: string): string => liveGrantKey(kind, digestOf(secret));

export interface NewGrant {
  secret: string;
  /** The permissions that the secret grants. */
  grant: unknown;
  /** Readable part of the API key that created it. */
  prefix: string;
  /** Most grants that this key may hold. */
  most: number;
  ttlMs: number;
}

/**
 * Stores a grant. Revokes the key's oldest grants beyond `most`. If the process dies between the two calls, those expire instead.
 */
export async function storeGrant(
  redis: Redis,
  kind: GrantKind,
  { secret, grant, prefix, most, ttlMs }: NewGrant,
): Promise<void> {
  const digest = digestOf(secret);
  const ofKey = liveGrantsKey(kind, prefix);
  const replies = await redis
    .multi()
    .set(liveGrantKey(kind, digest), JSON.stringify(grant), 'PX', ttlMs)
    .lpush(ofKey, digest)
    .lrange(ofKey, most, -1)
    .ltrim(ofKey, 0, most - 1)
    .pexpire(ofKey, ttlMs)
    .exec();
  const superfluous = (replies?.[2]?.[1] ?? []) as string[];
  if (superfluous.length > 0) await redis.del(superfluous.map((oldest) => liveGrantKey(kind, oldest)));
}

/** Consumes a secret and returns its grant, or `null`. Of two concurrent calls, only one gets it. */
export async function takeGrant(redis: Redis, kind: GrantKind, secret: string): Promise<unknown> {
  const text = await redis.getdel(keyOf(kind, secret));
  return text === null ? null : JSON.parse(text);
}

/** A secret's grant, or `null`. */
export async function readGrant(redis: Redis, kind: GrantKind, secret: string): Promise<unknown> {
  const text = await redis.get(keyOf(kind, secret));
  return text === null ? null : JSON.parse(text);
}

/** Extends the validity of secrets that are still valid. */
export async function keepGrants(
  redis: Redis,
  kind: GrantKind,
  secrets: readonly string[],
  ttlMs: number,
): Promise<void> {
  const pipeline = redis.pipeline();
  for (const secret of secrets) pipeline.pexpire(keyOf(kind, secret), ttlMs);
  await pipeline.exec();
}

/** Revokes secrets. */
export async function dropGrants(redis: Redis, kind: GrantKind, secrets: readonly string[]): Promise<void> {
  if (secrets.length > 0) await redis.del(secrets.map((secret) => keyOf(kind, secret)));
}
