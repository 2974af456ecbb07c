import type { Redis } from 'ioredis';
import { SHARD_NUMBERS } from './keys.ts';

const known = new WeakMap<Redis, readonly number[]>();

/**
 * The shards that hold tenants, as far as this process knows; all shards if unknown. For repeated work, which may miss a tenant that
 * was just created on another shard. Not for work that must be complete.
 */
export const shardsInUse = (redis: Redis): readonly number[] => known.get(redis) ?? SHARD_NUMBERS;

/** Sets the shards in use; `null` if unknown. */
export function noteShardsInUse(redis: Redis, shards: readonly number[] | null): void {
  if (shards === null) known.delete(redis);
  else known.set(redis, shards);
}
