import type { Redis } from 'ioredis';
import {
  ALL_SHARDS_PATTERN,
  batchesKey,
  batchProgressKey,
  keptEntriesKey,
  outboxKey,
  rebuildingKey,
  shardOfKey,
} from '../../redis/keys.ts';
import type { Loader } from './loader.ts';

const KEYS_A_SCAN = 2_000;

/**
 * Removes all keys of all shards, each by its shard's loader, but those that a rebuild keeps: the outbox, the batches
 * that wait, their progress, entries that only Redis keeps. One pass over the keys.
 */
export async function wipe(
  redis: Redis,
  { loaders, onRemoved }: { loaders: readonly Loader[]; onRemoved: (keys: number) => Promise<void> },
): Promise<void> {
  const kept = new Set(
    loaders.flatMap((_, shard) => [
      outboxKey(shard),
      batchesKey(shard),
      batchProgressKey(shard),
      keptEntriesKey(shard),
      rebuildingKey(shard),
    ]),
  );
  let removed = 0;
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', ALL_SHARDS_PATTERN, 'COUNT', KEYS_A_SCAN);
    for (const [shard, loader] of loaders.entries()) {
      const keys = found.filter((key) => !kept.has(key) && shardOfKey(key) === shard);
      if (keys.length > 0) await loader.addPairs(['UNLINK'], keys);
      removed += keys.length;
    }
    if (found.length > 0) await onRemoved(removed);
    cursor = next;
  } while (cursor !== '0');
  await Promise.all(loaders.map((loader) => loader.flush()));
}
