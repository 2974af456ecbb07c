/** Permits of merges across shards (decision 54): a merge changes the remaining user only with its permit, which it uses up. */
import type { Redis } from 'ioredis';
import { connectionOf } from './endpoints.ts';
import { mergePermitsKey } from './keys.ts';
import { knownPart } from './parts.ts';

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
