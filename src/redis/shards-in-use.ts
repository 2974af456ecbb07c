import type { Redis } from 'ioredis';
import { SHARD_NUMBERS } from './keys.ts';

const known = new WeakMap<Redis, readonly number[]>();

/**
 * The shards that hold a tenant, as far as this process knows; all if it is unknown. Repeated work covers these alone. Not for work
 * that must be complete: a tenant that was created a moment ago may be on another shard.
 */
export const shardsInUse = (redis: Redis): readonly number[] => known.get(redis) ?? SHARD_NUMBERS;

/** Notes which are in use; null if it is unknown. */
export function noteShardsInUse(redis: Redis, shards: readonly number[] | null): void {
  if (shards === null) known.delete(redis);
  else known.set(redis, shards);
}
