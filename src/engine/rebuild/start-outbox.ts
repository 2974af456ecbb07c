import type { Redis } from 'ioredis';
import { batchesKey, batchProgressKey, handedUpToKey, outboxKey } from '../../redis/keys.ts';
import { comparePositions, lastPosition, positionAfter } from '../../redis/outbox.ts';
import type { Loader } from './loader.ts';
import { HANDED, OUTBOX } from '../../packed/call-fields.ts';

/**
 * Takes from a shard's outbox what Postgres holds, and has it go on behind the cursor; and has the batches that
 * wait go on where Postgres says: a Redis that went back to an older moment holds batches that were processed since.
 */
export async function startOutbox(
  redis: Redis,
  {
    shard,
    loader,
    position,
    batchProgress,
  }: { shard: number; loader: Loader; position: string; batchProgress: string },
): Promise<void> {
  const outbox = outboxKey(shard);
  const last = await lastPosition(redis, shard);
  if (comparePositions(last, position) < 0) {
    // The last ID of a stream cannot be set where there is no stream.
    await loader.add(['XADD', outbox, position, OUTBOX.tenant, '0']);
  }
  await loader.add(['XTRIM', outbox, 'MINID', '=', positionAfter(position)]);
  // Nothing before it is kept, and Postgres holds all of it.
  await loader.add(['HSET', handedUpToKey(shard), HANDED.position, position, HANDED.floor, position]);
  if (batchProgress !== '') {
    const [batchId = ''] = batchProgress.split(':');
    await loader.add(['SET', batchProgressKey(shard), batchProgress]);
    await loader.add(['XTRIM', batchesKey(shard), 'MINID', batchId]);
  }
  await loader.flush();
}
