import type { Redis } from 'ioredis';
import { SHARD_NUMBERS } from './keys.ts';

const known = new WeakMap<Redis, readonly number[]>();

/**
 * The shards behind a connection that hold a tenant, as far as this process knows; all of them where nobody has said. What is done
 * again and again costs by these, not by how many shards there are. Not for what must be complete: a tenant that was made
 * a moment ago may be on one that is not among them.
 */
export const shardsInUse = (redis: Redis): readonly number[] => known.get(redis) ?? SHARD_NUMBERS;

/** Says which are in use; null: it is not known. */
export function noteShardsInUse(redis: Redis, shards: readonly number[] | null): void {
  if (shards === null) known.delete(redis);
  else known.set(redis, shards);
}
