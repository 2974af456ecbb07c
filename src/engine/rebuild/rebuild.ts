import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { lockCursors, nextEpoch, readEpoch, setFences } from '../../postgres/rebuild/epoch.ts';
import { estimateRows } from '../../postgres/rebuild/read-users.ts';
import { tenantsOfShards } from '../../postgres/rebuild/tenants-of-shards.ts';
import { transaction } from '../../postgres/transaction.ts';
import { beliefOf, RedisNotReady } from '../../redis/gate.ts';
import { markKey, rebuildingKey, SHARD_NUMBERS } from '../../redis/keys.ts';
import { comparePositions, lastPosition } from '../../redis/outbox.ts';
import { readRun } from '../../redis/run.ts';
import { Catalogs } from '../../catalog/catalogs.ts';
import { FixedClock, systemClock } from '../../clock.ts';
import { readClock } from '../../postgres/test-clock.ts';
import { Reporter } from '../notifications/reporter.ts';
import { Persister } from '../persist/persister.ts';
import type { SetAside } from '../persist/set-aside.ts';
import { fenceOf, fenceOfRebuild, LOOK_MS, markOf } from './inspect.ts';
import { Generations } from './derived-keys.ts';
import { loadIdempotencyKeys } from './load-idempotency-keys.ts';
import { loadUsers } from './load-users.ts';
import { flushed, Loader, RebuildOvertaken, type Loaders } from './loader.ts';
import { loadQuarantine } from './quarantined-keys.ts';
import { startOutbox } from './start-outbox.ts';
import type { OnUnreadable } from './unreadable.ts';
import { wipe } from './wipe.ts';

/** By then every process has noticed that the marks are gone, and answers no reads (see `RedisGuard`). */
const NOTICED_MS = 2 * LOOK_MS;

/** How far a rebuild is. */
export interface RebuildProgress {
  step: 'store outbox' | 'remove old keys' | 'users' | 'idempotency keys' | 'done';
  done: number;
  /** About how many there are; null: not known. */
  total: number | null;
}

export interface RebuildOptions {
  redis: Redis;
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
 * should run; should two, the one that began first can write no more. Throws RebuildOvertaken then, or if Redis is not the
 * process that it began with.
 */
export async function rebuild(options: RebuildOptions): Promise<void> {
  const { redis, pool, onProgress, onSetAside, onLeftOut, onUnreadable = () => undefined, ending } = options;
  const { shards = SHARD_NUMBERS } = options;
  const report = async (progress: RebuildProgress): Promise<void> => {
    ending?.throwIfAborted();
    await onProgress?.(progress);
  };
  let connections = 0;
  const closed = (): void => void (connections += 1);
  redis.on('close', closed);
  try {
    const run = await readRun(redis);
    const epoch = await beginEpoch(pool, shards);
    const { installation } = await readEpoch(pool);
    const mark = markOf(installation, epoch);
    const wasOpen = await removeMarks(redis, shards, mark);
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
    const tenants = shards.length === SHARD_NUMBERS.length ? null : await tenantsOfShards(pool, shards);
    const generations = new Generations();
    const users = tenants === null ? await estimateRows(pool, 'users') : null;
    await loadUsers({
      pool,
      tenants,
      loaders,
      generations,
      onUnreadable,
      onLoaded: (done) => report({ step: 'users', done, total: users && Math.max(users, done) }),
    });
    await loadIdempotencyKeys({
      pool,
      redis,
      tenants,
      loaders,
      generations,
      onLoaded: (done) => report({ step: 'idempotency keys', done, total: null }),
    });
    await loadQuarantine(pool, loaders);
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

/** Takes the marks of some shards; whether there was one. */
async function removeMarks(redis: Redis, shards: readonly number[], mark: string): Promise<boolean> {
  const replies = await Promise.all(
    shards.map((shard) => redis.multi().set(rebuildingKey(shard), mark).del(markKey(shard)).exec()),
  );
  return replies.some((reply) => reply?.[1]?.[1] === 1);
}

/** From here on no persister stores anything of these shards but the rebuild's own. */
const beginEpoch = (pool: Pool, shards: readonly number[]): Promise<number> =>
  transaction(pool, async (client) => {
    await readEpoch(client);
    await lockCursors(client, shards);
    const epoch = await nextEpoch(client);
    await setFences(client, shards, { fence: fenceOfRebuild(epoch) });
    return epoch;
  });

/** Stores what the outboxes hold beyond the cursors. One that ends before its cursor holds nothing that is not stored. */
async function storeOutboxes({
  redis,
  pool,
  shards,
  fence,
  report,
  onSetAside,
  onLeftOut = () => undefined,
}: {
  redis: Redis;
  pool: Pool;
  shards: readonly number[];
  fence: string;
  report: (progress: RebuildProgress) => Promise<void>;
  onSetAside: RebuildOptions['onSetAside'];
  onLeftOut: RebuildOptions['onLeftOut'];
}): Promise<void> {
  const { nowMs } = await readClock(pool);
  const clock = nowMs === null ? systemClock : new FixedClock(nowMs);
  const reporter = new Reporter({ pool, catalogs: new Catalogs({ pool }), clock, onLeftOut });
  const persister = new Persister({
    redis,
    pool,
    gate: { fenceOf: () => fence },
    reporter,
    ...(onSetAside && { onSetAside }),
  });
  const { cursors } = await readEpoch(pool);
  let done = 0;
  const ends = await Promise.all(shards.map((shard) => lastPosition(redis, shard)));
  for (const [index, shard] of shards.entries()) {
    await report({ step: 'store outbox', done, total: null });
    if (comparePositions(ends[index]!, cursors[shard]!.position) > 0)
      done += await persister.drain(shard, AbortSignal.abort());
  }
}
