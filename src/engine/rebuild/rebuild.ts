import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readEpoch, setFences } from '../../postgres/rebuild/epoch.ts';
import { beliefOf, RedisNotReady } from '../../redis/gate.ts';
import { markKey, rebuildingKey, SHARD_NUMBERS } from '../../redis/keys.ts';
import { readRun } from '../../redis/run.ts';
import type { SetAside } from '../persist/set-aside.ts';
import { fillShards } from './fill-shards.ts';
import { fenceOf, fenceOfRebuild } from './inspect.ts';
import { flushed, Loader, RebuildOvertaken, type Loaders } from './loader.ts';
import { NOTICED_MS, shutShards } from './shut-shards.ts';
import { startOutbox } from './start-outbox.ts';
import { storeOutboxes } from './store-outboxes.ts';
import type { OnUnreadable } from './unreadable.ts';
import { wipe } from './wipe.ts';

/** How far a rebuild is. */
export interface RebuildProgress {
  step: 'store outbox' | 'remove old keys' | 'users' | 'idempotency keys' | 'done';
  done: number;
  /** About how many there are; null: not known. */
  total: number | null;
}

export interface RebuildOptions {
  redis: Redis;
  /** Its name, as Postgres knows it; without it nobody asks whether the shards are on it. */
  name?: string;
  pool: Pool;
  /** All, unless said otherwise. */
  shards?: readonly number[];
  onProgress?: (progress: RebuildProgress) => void | Promise<void>;
  /** Called for each entry of the outbox that could not be stored and was set aside. */
  onSetAside?: (entry: SetAside) => void;
  /** Called for each notification of what the outbox holds that could not be made. */
  onLeftOut?: (error: unknown) => void;
  onUnreadable?: OnUnreadable;
  /** Aborted: the rebuild ends with an error, and Redis stays shut until the next one. */
  ending?: AbortSignal;
}

/**
 * Makes some shards of Redis hold what Postgres does. From the first moment they are without their marks, so that all processes
 * answer 503 to their tenants; what their outboxes hold beyond the cursor is stored first; the marks come back last. A process that
 * breaks off in between leaves them without marks, and the next rebuild starts over. The other shards go on. Only one
 * should run; should two, the one that began first can write no more. Throws RebuildOvertaken then, if Redis is not the
 * process that it began with, and where a shard was moved to another Redis.
 */
export async function rebuild(options: RebuildOptions): Promise<void> {
  const { redis, name, pool, shards = SHARD_NUMBERS } = options;
  const { onProgress, onSetAside, onLeftOut, onUnreadable = () => undefined, ending } = options;
  const report = async (progress: RebuildProgress): Promise<void> => {
    ending?.throwIfAborted();
    await onProgress?.(progress);
  };
  let connections = 0;
  const closed = (): void => void (connections += 1);
  redis.on('close', closed);
  try {
    const run = await readRun(redis);
    const { epoch, mark, wasOpen } = await shutShards({ redis, name, pool, shards });
    if (wasOpen) await sleep(NOTICED_MS);

    await storeOutboxes({ redis, pool, shards, fence: fenceOfRebuild(epoch), report, onSetAside, onLeftOut });
    const { cursors } = await readEpoch(pool);
    const loaders: Loaders = new Map(
      shards.map((shard) => {
        const belief = beliefOf(rebuildingKey(shard), mark, run);
        return [shard, new Loader({ redis, belief, beside: shards.length - 1 })];
      }),
    );
    await wipe(redis, { loaders, onRemoved: (done) => report({ step: 'remove old keys', done, total: null }) });
    await Promise.all(
      Array.from(loaders, ([shard, loader]) => startOutbox(redis, { shard, loader, ...cursors[shard]! })),
    );
    await fillShards({ redis, pool, loaders, report, onUnreadable });
    for (const [shard, loader] of loaders) {
      await loader.add(['SET', markKey(shard), mark]);
      await loader.add(['DEL', rebuildingKey(shard)]);
    }
    // A Redis that was restarted in between may lack what was loaded before.
    if (connections > 0) throw new RebuildOvertaken('The connection to Redis broke during the rebuild.');
    await flushed(loaders);
    const fence = { fence: fenceOf(epoch, run), from: fenceOfRebuild(epoch) };
    if (!(await setFences(pool, shards, fence)) || connections > 0)
      throw new RebuildOvertaken('Another rebuild began, or the connection to Redis broke.');
    await report({ step: 'done', done: 1, total: 1 });
  } catch (error) {
    throw error instanceof RedisNotReady
      ? new RebuildOvertaken('The rebuild was overtaken by another one, or Redis is another process.')
      : error;
  } finally {
    redis.off('close', closed);
  }
}
