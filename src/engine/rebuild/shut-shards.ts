import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { lockCursors, nextEpoch, readEpoch, setFences } from '../../postgres/rebuild/epoch.ts';
import { noteMoving, placedElsewhere, readPlacement } from '../../postgres/shards/placement.ts';
import { refuseOtherVersions } from '../../postgres/running-versions.ts';
import { transaction } from '../../postgres/transaction.ts';
import { markKey, rebuildingKey } from '../../redis/keys.ts';
import { fenceOfRebuild, LOOK_MS, markOf, ownVersion } from './inspect.ts';
import { RebuildOvertaken } from './loader.ts';

/** By then every process has noticed that the marks are gone, and answers no reads (see `RedisGuard`). */
export const NOTICED_MS = 2 * LOOK_MS;

interface Shutting {
  redis: Redis;
  /** The name of this Redis, as Postgres knows it; '' or without it nobody asks whether the shards are on it. */
  name: string | undefined;
  pool: Pool;
  shards: readonly number[];
  /** The Redis that they are being moved to; null: they stay. */
  movingTo?: string | null;
}

/** A new epoch of shards that are shut. */
export interface ShutShards {
  epoch: number;
  /** The mark that they will get. */
  mark: string;
  /** Whether one was open before: some processes may still answer reads, for `NOTICED_MS`. */
  wasOpen: boolean;
}

/**
 * Shuts some shards and begins an epoch of them: from then on no process writes to them, and none stores anything of them but who
 * knows the fence of the rebuild (`fenceOfRebuild`). Throws RebuildOvertaken where a shard is not on this Redis any more,
 * OtherVersionRuns while processes run that could not read what it is filled with.
 */
export async function shutShards({ redis, name = '', pool, shards, movingTo = null }: Shutting): Promise<ShutShards> {
  const { installation, epoch } = await transaction(pool, async (client) => {
    const { installation } = await readEpoch(client);
    await refuseOtherVersions(client, ownVersion());
    await lockCursors(client, shards);
    // Behind the lock, under which shards are moved.
    const moved = name === '' ? [] : placedElsewhere(await readPlacement(client), { shards, name });
    if (moved.length > 0)
      throw new RebuildOvertaken(moved.map(({ shard, endpoint }) => `Shard ${shard} is on "${endpoint}".`).join(' '));
    await noteMoving(client, shards, movingTo);
    const epoch = await nextEpoch(client);
    await setFences(client, shards, { fence: fenceOfRebuild(epoch) });
    return { installation, epoch };
  });
  const mark = markOf(installation, epoch);
  return { epoch, mark, wasOpen: await removeMarks(redis, shards, mark) };
}

/** Takes the marks of some shards; whether there was one. */
async function removeMarks(redis: Redis, shards: readonly number[], mark: string): Promise<boolean> {
  const replies = await Promise.all(
    shards.map((shard) => redis.multi().set(rebuildingKey(shard), mark).del(markKey(shard)).exec()),
  );
  return replies.some((reply) => reply?.[1]?.[1] === 1);
}
