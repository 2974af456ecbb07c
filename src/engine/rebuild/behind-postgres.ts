import { readEpoch } from '../../postgres/rebuild/epoch.ts';
import { compareProgress } from '../../redis/batches.ts';
import { batchProgressKey, outboxKey } from '../../redis/keys.ts';
import { comparePositions, lastPosition, OUTBOX_START } from '../../redis/outbox.ts';
import type { Difference } from './confirm.ts';
import type { Sides } from './suspects.ts';

/** Shards whose outbox ends, or whose batches are processed, less far than Postgres says. */
export async function behindPostgres({
  redis,
  pool,
  shards,
}: Pick<Sides, 'redis' | 'pool' | 'shards'>): Promise<Difference[]> {
  const found: Difference[] = [];
  // Postgres first: Redis is ahead, and moves on.
  const { cursors } = await readEpoch(pool);
  for (const shard of shards) {
    const { position, batchProgress } = cursors[shard]!;
    const last = await lastPosition(redis, shard);
    if (comparePositions(last, position) < 0) {
      found.push({
        key: outboxKey(shard),
        part: '',
        redis: last === OUTBOX_START ? 'nothing' : last,
        postgres: position,
      });
    }
    const there = await redis.get(batchProgressKey(shard));
    if (compareProgress(there ?? '', batchProgress) < 0) {
      found.push({ key: batchProgressKey(shard), part: '', redis: there ?? 'nothing', postgres: batchProgress });
    }
  }
  return found;
}
