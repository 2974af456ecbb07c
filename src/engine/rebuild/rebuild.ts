import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { Catalogs } from '../../catalog/catalogs.ts';
import { FixedClock, systemClock } from '../../clock.ts';
import type { RebuildStep } from '../../domain/administration/system.ts';
import { rebuildingEpochOf, storageEpochOf } from '../../domain/shard-state.ts';
import { HANDED, OUTBOX } from '../../packed/call-fields.ts';
import {
  endRebuild,
  lockCursors,
  nextEpoch,
  noteRebuild,
  readCursors,
  readSpreads,
  setStorageEpochs,
  type StoredCursor,
} from '../../postgres/shards.ts';
import { refuseOtherVersions } from '../../postgres/running-versions.ts';
import { readClock } from '../../postgres/test-clock.ts';
import { transaction } from '../../postgres/transaction.ts';
import { byCommand } from '../../redis/endpoints.ts';
import { beliefOf, RedisNotReady } from '../../redis/gate.ts';
import { readHandedPosition, readOutboxEnds } from '../../redis/handed-over.ts';
import {
  ALL_SHARDS_PATTERN,
  batchesKey,
  batchProgressKey,
  handedUpToKey,
  keptEntriesKey,
  markKey,
  outboxKey,
  rebuildingKey,
  SHARD_NUMBERS,
  shardOfKey,
  shardPattern,
} from '../../redis/keys.ts';
import { noteSpreads } from '../../redis/parts.ts';
import { comparePositions, positionAfter, readOutbox } from '../../redis/outbox.ts';
import { readRedisProcessId } from '../../redis/server-info.ts';
import { Reporter } from '../notifications/reporter.ts';
import { Persister } from '../persist/persister.ts';
import type { SetAside } from '../persist/refused-entries.ts';
import { fillShards, flushed, Loader, type Loaders, type OnUnreadable, RebuildOvertaken } from './shard-filling.ts';
import { LOOK_MS, markOf, ownVersion } from './marks.ts';
import { addTo } from '../../grouped.ts';

export interface RebuildProgress {
  step: RebuildStep | 'done';
  done: number;
  /** An estimate; null if it is unknown. */
  total: number | null;
}

export interface RebuildOptions {
  redis: Redis;
  pool: Pool;
  /** Default: all. */
  shards?: readonly number[];
  onProgress?: (progress: RebuildProgress) => void | Promise<void>;
  onSetAside?: (entry: SetAside) => void;
  /** Called for each notification about the outbox that could not be made. */
  onLeftOut?: (error: unknown) => void;
  onUnreadable?: OnUnreadable;
  /** Aborting it ends the rebuild with an error; the shards stay closed until the next one. */
  ending?: AbortSignal;
}

/**
 * Makes some shards of Redis hold what Postgres holds. Removes their marks first, so that all processes answer 503 to
 * their tenants; then stores outbox entries beyond the cursors; sets the marks last. If the process ends in between,
 * the shards stay without marks and the next rebuild starts over. The other shards are served meanwhile. If two
 * rebuilds run, the one that began first can no longer write and throws RebuildOvertaken. So does a rebuild during
 * which the Redis process changes.
 */
export async function rebuild(options: RebuildOptions): Promise<void> {
  const { redis, pool, shards = SHARD_NUMBERS } = options;
  const { onProgress, onSetAside, onLeftOut, onUnreadable = () => undefined, ending } = options;
  let epoch: number | null = null;
  let noted: { step: RebuildStep; atMs: number } | null = null;
  const report = async ({ step, ...counts }: RebuildProgress): Promise<void> => {
    ending?.throwIfAborted();
    const atMs = performance.now();
    if (epoch !== null && step !== 'done' && (noted?.step !== step || atMs - noted.atMs >= NOTE_MS)) {
      noted = { step, atMs };
      // Only administrators look at it.
      await noteRebuild(pool, { epoch, shards: [...shards], step, ...counts }).catch(() => undefined);
    }
    await onProgress?.({ step, ...counts });
  };
  let disconnects = 0;
  const disconnected = (): void => void (disconnects += 1);
  redis.on('close', disconnected);
  try {
    const redisProcessId = await readRedisProcessId(redis);
    const closed = await closeShards(redis, pool, shards);
    const { mark, wasOpen } = closed;
    epoch = closed.epoch;
    if (wasOpen) await sleep(NOTICED_MS);

    const rebuildingEpoch = rebuildingEpochOf(epoch);
    await storeOutboxes({ redis, pool, shards, storageEpoch: rebuildingEpoch, report, onSetAside, onLeftOut });
    const { cursors } = await readCursors(pool);
    const loaders: Loaders = new Map(
      shards.map((shard) => {
        const belief = beliefOf(rebuildingKey(shard), mark, redisProcessId);
        return [shard, new Loader({ redis, belief, beside: shards.length - 1 })];
      }),
    );
    await wipe(redis, loaders, (done) => report({ step: 'remove old keys', done, total: null }));
    for (const [index, { last }] of (await readOutboxEnds(redis, shards)).entries()) {
      const shard = shards[index]!;
      await startOutbox({ shard, loader: loaders.get(shard)!, last, ...cursors[shard]! });
    }
    noteSpreads(redis, await readSpreads(pool));
    await fillShards({ redis, pool, loaders, report, onUnreadable });
    for (const [shard, loader] of loaders) {
      await loader.add(['SET', markKey(shard), mark]);
      await loader.add(['DEL', rebuildingKey(shard)]);
    }
    // A Redis that was restarted in between may lack keys that were loaded before.
    if (disconnects > 0) throw new RebuildOvertaken('The connection to Redis broke during the rebuild.');
    await flushed(loaders);
    const storageEpoch = storageEpochOf(epoch, redisProcessId);
    if (!(await setStorageEpochs(pool, shards, { storageEpoch, from: rebuildingEpoch })) || disconnects > 0)
      throw new RebuildOvertaken('Another rebuild began, or the connection to Redis broke.');
    await report({ step: 'done', done: 1, total: 1 });
  } catch (error) {
    throw error instanceof RedisNotReady
      ? new RebuildOvertaken('The rebuild was overtaken by another one, or Redis is another process.')
      : error;
  } finally {
    redis.off('close', disconnected);
    if (epoch !== null) await endRebuild(pool, epoch).catch(() => undefined);
  }
}

/** Shortest time between two notes of the progress of a step in Postgres. */
const NOTE_MS = 1_000;

/** After this time every process has noticed that the marks are gone, and answers no reads (see `RedisGuard`). */
const NOTICED_MS = 2 * LOOK_MS;

interface ClosedShards {
  epoch: number;
  /** Their new mark. */
  mark: string;
  /** Whether a shard was open before. Then some processes may still answer reads, for `NOTICED_MS`. */
  wasOpen: boolean;
}

/**
 * Closes some shards for all processes and starts a new epoch for them. From then on no process writes to them, and
 * only the rebuild's storage epoch may store their outboxes. Throws OtherVersionRuns while a process runs that could
 * not read the new keys.
 */
async function closeShards(redis: Redis, pool: Pool, shards: readonly number[]): Promise<ClosedShards> {
  const { installation, epoch } = await transaction(pool, async (client) => {
    const { installation } = await readCursors(client);
    await refuseOtherVersions(client, ownVersion());
    await lockCursors(client, shards);
    const epoch = await nextEpoch(client);
    await setStorageEpochs(client, shards, { storageEpoch: rebuildingEpochOf(epoch) });
    return { installation, epoch };
  });
  const mark = markOf(installation, epoch);
  const replies = await Promise.all(
    byCommand(redis, shards).map((group) =>
      redis
        .multi()
        .mset(group.flatMap((shard) => [rebuildingKey(shard), mark]))
        .del(group.map(markKey))
        .exec(),
    ),
  );
  return { epoch, mark, wasOpen: replies.some((reply) => Number(reply?.[1]?.[1]) > 0) };
}

/** Delay while a persister that read before the shard was closed still holds the cursor. */
const AGAIN_MS = 20;

interface ClosedOutbox {
  redis: Redis;
  pool: Pool;
  /** The storage epoch with which the shard was closed. */
  storageEpoch: string;
}

/** Stores what the outboxes of closed shards hold beyond their cursors. Throws RebuildOvertaken. */
async function storeOutboxes(
  options: ClosedOutbox & {
    shards: readonly number[];
    report: (progress: { step: 'store outbox'; done: number; total: null }) => Promise<void>;
    onSetAside?: ((entry: SetAside) => void) | undefined;
    onLeftOut?: ((error: unknown) => void) | undefined;
  },
): Promise<void> {
  const { redis, pool, shards, storageEpoch, report, onSetAside, onLeftOut = () => undefined } = options;
  const { nowMs } = await readClock(pool);
  const clock = nowMs === null ? systemClock : new FixedClock(nowMs);
  const reporter = new Reporter({ redis, pool, catalogs: new Catalogs(pool), clock, onLeftOut });
  const gate = { storageEpochOf: () => storageEpoch };
  const persister = new Persister({ redis, pool, gate, reporter, ...(onSetAside && { onSetAside }) });
  const { cursors } = await readCursors(pool);
  const ends = await readOutboxEnds(redis, shards);
  let done = 0;
  for (const [index, shard] of shards.entries()) {
    await report({ step: 'store outbox', done, total: null });
    if (comparePositions(ends[index]!.last, cursors[shard]!.position) <= 0) continue;
    // A persister that read under the older storage epoch stores nothing, but holds the cursor until it notices.
    for (;;) {
      done += await persister.drain(shard, AbortSignal.abort());
      if (await isStored(shard, { redis, pool, storageEpoch })) break;
      await sleep(AGAIN_MS);
      await report({ step: 'store outbox', done, total: null });
    }
  }
}

/** Whether Postgres holds all of a shard's outbox. */
async function isStored(shard: number, { redis, pool, storageEpoch }: ClosedOutbox): Promise<boolean> {
  const cursor = (await readCursors(pool)).cursors[shard]!;
  if (cursor.storageEpoch !== storageEpoch) throw new RebuildOvertaken('Another rebuild of the shard has begun.');
  // A Postgres restored from an older state lacks entries that left the outbox and are still kept.
  if (comparePositions(await readHandedPosition(redis, shard), cursor.position) > 0) return false;
  return (await readOutbox(redis, { shard, after: cursor.position, count: 1 })).length === 0;
}

/** Lets a shard's outbox continue after the cursor, and removes batches that were already processed. */
async function startOutbox(
  cursor: Pick<StoredCursor, 'position' | 'batchProgress'> & {
    shard: number;
    loader: Loader;
    /** The end of the outbox. */
    last: string;
  },
): Promise<void> {
  const { shard, loader, last, position, batchProgress } = cursor;
  const outbox = outboxKey(shard);
  if (comparePositions(last, position) < 0) {
    // XSETID requires that the stream exists.
    await loader.add(['XADD', outbox, position, OUTBOX.tenant, '0']);
  }
  await loader.add(['XTRIM', outbox, 'MINID', '=', positionAfter(position)]);
  // Nothing before this position is kept, and Postgres holds all of it.
  await loader.add(['HSET', handedUpToKey(shard), HANDED.position, position, HANDED.floor, position]);
  if (batchProgress !== '') {
    const [batchId = ''] = batchProgress.split(':');
    await loader.add(['SET', batchProgressKey(shard), batchProgress]);
    await loader.add(['XTRIM', batchesKey(shard), 'MINID', batchId]);
  }
}

const KEYS_A_SCAN = 2_000;

/** Keys that a rebuild keeps: outbox, waiting batches and their progress, entries that only Redis stores. */
const keptByRebuild = (shard: number): string[] => [
  outboxKey(shard),
  batchesKey(shard),
  batchProgressKey(shard),
  keptEntriesKey(shard),
];

/** Removes the keys of some shards, each by its shard's loader, except those that a rebuild keeps. One pass over the keys. */
async function wipe(redis: Redis, loaders: Loaders, onRemoved: (keys: number) => Promise<void>): Promise<void> {
  const keptKeys = new Set([...loaders.keys()].flatMap((shard) => [rebuildingKey(shard), ...keptByRebuild(shard)]));
  const [only] = loaders.keys();
  const pattern = loaders.size === 1 ? shardPattern(only!) : ALL_SHARDS_PATTERN;
  let removed = 0;
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_A_SCAN);
    const old = new Map<Loader, string[]>();
    for (const key of found) {
      const loader = loaders.get(shardOfKey(key));
      if (loader === undefined || keptKeys.has(key)) continue;
      addTo(old, loader, key);
    }
    for (const [loader, keys] of old) {
      await loader.addPairs(['UNLINK'], keys);
      removed += keys.length;
    }
    if (found.length > 0) await onRemoved(removed);
    cursor = next;
  } while (cursor !== '0');
  await flushed(loaders);
}
