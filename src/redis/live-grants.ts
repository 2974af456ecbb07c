import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { liveGrantKey } from './keys.ts';

/** A ticket opens one stream; a session lets that stream's client come back. */
type GrantKind = Parameters<typeof liveGrantKey>[0];

/** Redis knows secrets by their digests only: who reads it can open no stream. */
const keyOf = (kind: GrantKind, secret: string): string =>
  liveGrantKey(kind, createHash('sha256').update(secret).digest('base64url'));

/** Stores what a secret stands for, in place of what it stood for before. */
export async function storeGrant(
  redis: Redis,
  kind: GrantKind,
  { secret, grant, ttlMs }: { secret: string; grant: unknown; ttlMs: number },
): Promise<void> {
  await redis.set(keyOf(kind, secret), JSON.stringify(grant), 'PX', ttlMs);
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
