import type { Redis } from 'ioredis';
import {
  ALL_SHARDS_PATTERN,
  batchesKey,
  batchProgressKey,
  keptEntriesKey,
  outboxKey,
  rebuildingKey,
  shardOfKey,
  shardPattern,
} from '../../redis/keys.ts';
import { flushed, type Loaders } from './loader.ts';

const KEYS_A_SCAN = 2_000;

/**
 * Removes all keys of some shards, each by its shard's loader, but those that a rebuild keeps: the outbox, the batches
 * that wait, their progress, entries that only Redis keeps. One pass over the keys.
 */
export async function wipe(
  redis: Redis,
  { loaders, onRemoved }: { loaders: Loaders; onRemoved: (keys: number) => Promise<void> },
): Promise<void> {
  const kept = new Set(
    [...loaders.keys()].flatMap((shard) => [
      outboxKey(shard),
      batchesKey(shard),
      batchProgressKey(shard),
      keptEntriesKey(shard),
      rebuildingKey(shard),
    ]),
  );
  const [only] = loaders.keys();
  const pattern = loaders.size === 1 ? shardPattern(only!) : ALL_SHARDS_PATTERN;
  let removed = 0;
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_A_SCAN);
    for (const [shard, loader] of loaders) {
      const keys = found.filter((key) => !kept.has(key) && shardOfKey(key) === shard);
      if (keys.length > 0) await loader.addPairs(['UNLINK'], keys);
      removed += keys.length;
    }
    if (found.length > 0) await onRemoved(removed);
    cursor = next;
  } while (cursor !== '0');
  await flushed(loaders);
}
