import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { liveGrantKey, liveGrantsKey } from './keys.ts';

/** A ticket opens one stream; a session lets that stream's client come back. */
type GrantKind = Parameters<typeof liveGrantKey>[0];

/** Redis knows secrets by their digests only: who reads it can open no stream. */
const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');
const keyOf = (kind: GrantKind, secret: string): string => liveGrantKey(kind, digestOf(secret));

export interface NewGrant {
  secret: string;
  /** What the secret stands for. */
  grant: unknown;
  /** The readable part of the API key that it was made for. */
  prefix: string;
  /** How many that key may hold. */
  most: number;
  ttlMs: number;
}

/**
 * Stores what a secret stands for. Beyond `most` the key's oldest stand for nothing any more. A process that dies between
 * the two calls leaves those to expire.
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

/** What a secret stands for, which it does no more; null: nothing. Of two who ask at once, one gets it. */
export async function takeGrant(redis: Redis, kind: GrantKind, secret: string): Promise<unknown> {
  const text = await redis.getdel(keyOf(kind, secret));
  return text === null ? null : JSON.parse(text);
}

/** What a secret stands for; null: nothing. */
export async function readGrant(redis: Redis, kind: GrantKind, secret: string): Promise<unknown> {
  const text = await redis.get(keyOf(kind, secret));
  return text === null ? null : JSON.parse(text);
}

/** Has secrets go on standing for what they do, if they still do. */
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

/** Secrets that stand for nothing from now on. */
export async function dropGrants(redis: Redis, kind: GrantKind, secrets: readonly string[]): Promise<void> {
  if (secrets.length > 0) await redis.del(secrets.map((secret) => keyOf(kind, secret)));
}
