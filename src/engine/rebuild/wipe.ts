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
import { flushed, type Loader, type Loaders } from './loader.ts';

const KEYS_A_SCAN = 2_000;

/** What a rebuild keeps of a shard: the outbox, the batches that wait, their progress, entries that only Redis keeps. */
const keptByRebuild = (shard: number): string[] => [
  outboxKey(shard),
  batchesKey(shard),
  batchProgressKey(shard),
  keptEntriesKey(shard),
];

/**
 * Removes all keys of some shards, each by its shard's loader, but those that a rebuild keeps; with `everything` those too, but for
 * the key that the loaders go by. One pass over the keys.
 */
export async function wipe(
  redis: Redis,
  {
    loaders,
    everything = false,
    onRemoved,
  }: { loaders: Loaders; everything?: boolean; onRemoved: (keys: number) => Promise<void> },
): Promise<void> {
  const kept = new Set(
    [...loaders.keys()].flatMap((shard) => [rebuildingKey(shard), ...(everything ? [] : keptByRebuild(shard))]),
  );
  const [only] = loaders.keys();
  const pattern = loaders.size === 1 ? shardPattern(only!) : ALL_SHARDS_PATTERN;
  let removed = 0;
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_A_SCAN);
    const old = new Map<Loader, string[]>();
    for (const key of found) {
      const loader = loaders.get(shardOfKey(key));
      if (loader === undefined || kept.has(key)) continue;
      const keys = old.get(loader);
      if (keys === undefined) old.set(loader, [key]);
      else keys.push(key);
    }
    for (const [loader, keys] of old) await loader.addPairs(['UNLINK'], keys);
    for (const keys of old.values()) removed += keys.length;
    if (found.length > 0) await onRemoved(removed);
    cursor = next;
  } while (cursor !== '0');
  await flushed(loaders);
}
