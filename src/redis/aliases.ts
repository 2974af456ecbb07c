/** Users who were merged into others: the old ID stands for the other user. */
import type { Redis } from 'ioredis';
import { connectionOf } from './endpoints.ts';
import { aliasesKey } from './keys.ts';
import { knownPart } from './parts.ts';

/** A user who was merged into another may have been the remaining one of earlier merges: this many are followed at most. */
export const MOST_HOPS = 32;

/** The user for whom an ID stands: another one after merges, else the ID itself. */
export async function aliasOf(redis: Redis, tenantNo: number, userId: string): Promise<string> {
  let known = userId;
  for (let hops = 0; hops < MOST_HOPS; hops += 1) {
    const next = await directAlias(redis, tenantNo, known);
    if (next === null) return known;
    known = next;
  }
  return known;
}

/** The user into whom one was merged directly; `null` if none. */
export function directAlias(redis: Redis, tenantNo: number, userId: string): Promise<string | null> {
  const part = knownPart(redis, tenantNo, userId);
  return connectionOf(redis, part.shard).hget(aliasesKey(part), userId);
}

/** Forgets that a user was merged into another, unless the ID was merged into a third one since. */
export async function forgetAlias(
  redis: Redis,
  tenantNo: number,
  { from, into }: { from: string; into: string },
): Promise<void> {
  const part = knownPart(redis, tenantNo, from);
  if ((await directAlias(redis, tenantNo, from)) !== into) return;
  await connectionOf(redis, part.shard).hdel(aliasesKey(part), from);
}
