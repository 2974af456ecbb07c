import type { Redis } from 'ioredis';
import { batchesKey, batchProgressKey, outboxKey, rebuildingKey, shardPattern } from '../../redis/keys.ts';
import type { Loader } from './loader.ts';

const KEYS_A_SCAN = 2_000;

/** Removes all keys of a shard but those that a rebuild keeps: the outbox, the batches that wait, their progress. */
export async function wipe(
  redis: Redis,
  { shard, loader, onRemoved }: { shard: number; loader: Loader; onRemoved: (keys: number) => Promise<void> },
): Promise<void> {
  const kept = new Set([outboxKey(shard), batchesKey(shard), batchProgressKey(shard), rebuildingKey(shard)]);
  let removed = 0;
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', shardPattern(shard), 'COUNT', KEYS_A_SCAN);
    const keys = found.filter((key) => !kept.has(key));
    if (keys.length > 0) {
      await loader.addPairs(['UNLINK'], keys);
      removed += keys.length;
      await onRemoved(removed);
    }
    cursor = next;
  } while (cursor !== '0');
  await loader.flush();
}
