import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { beliefOf } from '../../redis/gate.ts';
import { rebuildingKey } from '../../redis/keys.ts';
import { readRedisProcessId } from '../../redis/server-info.ts';
import { inspect, isMarked } from '../availability/inspection.ts';
import { Loader, RebuildOvertaken } from '../rebuild/loader.ts';
import { wipe } from '../rebuild/rebuild.ts';

/**
 * Removes all keys of a shard from a Redis that does not hold it, some thousand a call. Idempotent. Throws RebuildOvertaken, and
 * nothing is done, where the shard is whole there after all; RedisNotReady where Redis was restarted, or the shard rebuilt there,
 * meanwhile.
 */
export async function clearShard({
  redis,
  pool,
  shard,
  onRemoved,
}: {
  redis: Redis;
  pool: Pool;
  shard: number;
  onRemoved: (keys: number) => Promise<void>;
}): Promise<void> {
  const seen = await inspect(redis, pool, [shard]);
  if (seen.shards.some((each) => isMarked(each, seen))) throw new RebuildOvertaken(`Shard ${shard} is whole here.`);
  const key = rebuildingKey(shard);
  const claim = `${seen.installation}:removed`;
  const mark = (await redis.set(key, claim, 'NX', 'GET')) ?? claim;
  const loader = new Loader({ redis, belief: beliefOf(key, mark, await readRedisProcessId(redis)) });
  await wipe(redis, { loaders: new Map([[shard, loader]]), everything: true, onRemoved });
  await loader.add(['DEL', key]);
  await loader.flush();
}
