/** Permits of merges across shards (decision 54): a merge changes the remaining user only with its permit, which it uses up. */
import type { Redis } from 'ioredis';
import { connectionOf } from './endpoints.ts';
import { mergePermitsKey, mergesHeldKey, type TenantPart } from './keys.ts';
import { knownPart, knownParts } from './parts.ts';

export const PERMIT = '1';

/** Merges last seconds. A later one would find no permit, and be given up. */
const KEPT_SECONDS = 3_600;

/** The user who remains, and the ID of the seal (32 hex digits). */
interface Permitted {
  tenantNo: number;
  into: string;
  seal: string;
}

/** Permits a merge. Call this once, before the seal. */
export async function permitMerge(redis: Redis, { tenantNo, into, seal }: Permitted): Promise<void> {
  const part = knownPart(redis, tenantNo, into);
  const key = mergePermitsKey(part);
  const server = connectionOf(redis, part.shard);
  await server.hset(key, seal, PERMIT);
  await server.expire(key, KEPT_SECONDS);
}

export async function isMergePermitted(redis: Redis, { tenantNo, into, seal }: Permitted): Promise<boolean> {
  const part = knownPart(redis, tenantNo, into);
  return (await connectionOf(redis, part.shard).hget(mergePermitsKey(part), seal)) !== null;
}

/** Long enough for the merges under way to end, and for a copy of a run afterwards. */
const HELD_MS = 5_000;

const firstPart = (redis: Redis, tenantNo: number): TenantPart => knownParts(redis, tenantNo)[0]!;

/** For some seconds, no merge across a tenant's shards begins: something waits for the end of those under way. */
export async function holdMerges(redis: Redis, tenantNo: number): Promise<void> {
  const part = firstPart(redis, tenantNo);
  await connectionOf(redis, part.shard).set(mergesHeldKey(part), '1', 'PX', HELD_MS);
}

export async function areMergesHeld(redis: Redis, tenantNo: number): Promise<boolean> {
  const part = firstPart(redis, tenantNo);
  return (await connectionOf(redis, part.shard).exists(mergesHeldKey(part))) === 1;
}
