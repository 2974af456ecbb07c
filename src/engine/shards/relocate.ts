import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { rebuildingEpochOf, storageEpochOf } from '../../domain/storage-epoch.ts';
import { lockCursors, readCursors, setStorageEpochs } from '../../postgres/rebuild/storage-epochs.ts';
import { placeShard } from '../../postgres/shards/placement.ts';
import { transaction } from '../../postgres/transaction.ts';
import type { Endpoint } from '../../redis/endpoints.ts';
import { beliefOf } from '../../redis/gate.ts';
import { markKey, rebuildingKey } from '../../redis/keys.ts';
import { InSyncReplicas } from '../../redis/in-sync-replicas.ts';
import { readRedisProcessId } from '../../redis/server-info.ts';
import { fillShards } from '../rebuild/fill-shards.ts';
import { Loader, RebuildOvertaken } from '../rebuild/loader.ts';
import { closeShards, NOTICED_MS, startOutbox, storeOutboxes, type RebuildOptions } from '../rebuild/rebuild.ts';
import { carryKept } from './carry-kept.ts';

/** How far a move is; from `store outbox` to `open` the shard is shut. */
export interface MoveProgress {
  step: 'clear target' | 'store outbox' | 'carry' | 'users' | 'idempotency keys' | 'place' | 'open' | 'clear source';
  done: number;
  total: number | null;
}

export interface RelocateOptions extends Pick<RebuildOptions, 'onSetAside' | 'onLeftOut' | 'onUnreadable'> {
  source: Endpoint;
  /** It holds nothing of the shard. */
  target: Endpoint;
  pool: Pool;
  shard: number;
  /** How long a replica of the target may take to have what was written; null: none has to. */
  acknowledgeMs?: number | null;
  /** Called at each step; what it rejects with ends the move. */
  report: (progress: MoveProgress) => Promise<void>;
  ending: AbortSignal;
}

/**
 * Shuts a shard, has the target hold what the source and Postgres do, places it there and opens it; what is on the source stays.
 * To be called under the lock of rebuilds. How long the shard was shut, ms. Throws RebuildOvertaken where another process took
 * over or the target is another one than at first, and errors of servers: if it was not placed by then, nothing is changed
 * but that it is shut.
 */
export async function relocate(options: RelocateOptions): Promise<number> {
  const { source, pool, shard, report, ending } = options;
  const { name, redis } = options.target;
  const redisProcessId = await readRedisProcessId(redis);
  const shutAtMs = performance.now();
  const closed = await closeShards({ redis: source.redis, name: source.name, pool, shards: [shard], movingTo: name });
  const { epoch, mark } = closed;
  const rebuildingEpoch = rebuildingEpochOf(epoch);
  await storeOutboxes({ ...options, redis: source.redis, shards: [shard], storageEpoch: rebuildingEpoch });

  const loader = new Loader({ redis, belief: beliefOf(rebuildingKey(shard), mark, redisProcessId) });
  await redis.set(rebuildingKey(shard), mark);
  await carryAndFill(options, loader);
  await replicated(options);
  // The source is as it was all the while, so what was read there until now is right.
  if (closed.wasOpen)
    await sleep(Math.max(0, NOTICED_MS - (performance.now() - shutAtMs)), undefined, { signal: ending });

  await report({ step: 'place', done: 0, total: null });
  if ((await readRedisProcessId(redis)) !== redisProcessId)
    throw new RebuildOvertaken(`The Redis "${name}" is another one by now.`);
  await place(options, { from: rebuildingEpoch, storageEpoch: storageEpochOf(epoch, redisProcessId) });
  await report({ step: 'open', done: 0, total: null });
  await loader.add(['SET', markKey(shard), mark]);
  await loader.add(['DEL', rebuildingKey(shard)]);
  await loader.flush();
  return performance.now() - shutAtMs;
}

async function carryAndFill(
  { source, target, pool, shard, report, onUnreadable = () => undefined }: RelocateOptions,
  loader: Loader,
): Promise<void> {
  const { position, batchProgress } = (await readCursors(pool)).cursors[shard]!;
  const destination = { shard, loader };
  await report({ step: 'carry', done: 0, total: null });
  const to = { all: [destination], of: () => destination };
  await carryKept({ from: { redis: source.redis, shard }, to, batchProgress });
  // The batches are carried as they are to be.
  await startOutbox(target.redis, { shard, loader, position, batchProgress: '' });
  await fillShards({ redis: target.redis, pool, loaders: new Map([[shard, loader]]), report, onUnreadable });
  await loader.flush();
}

/** What was carried is nowhere else once the source is cleared: it must be as safe as what is acknowledged to clients. */
async function replicated({ target, acknowledgeMs = null }: RelocateOptions): Promise<void> {
  if (acknowledgeMs === null || (await InSyncReplicas.find(target.redis, acknowledgeMs)) !== null) return;
  throw new RebuildOvertaken(`No replica of the Redis "${target.name}" acknowledges what is written.`);
}

/** From its commit on all processes look for the shard on the target. */
async function place(
  { target, pool, shard }: RelocateOptions,
  { from, storageEpoch }: { from: string; storageEpoch: string },
): Promise<void> {
  const isPlaced = await transaction(pool, async (client) => {
    await lockCursors(client, [shard]);
    if (!(await setStorageEpochs(client, [shard], { from, storageEpoch }))) return false;
    await placeShard(client, shard, target.name);
    return true;
  });
  if (!isPlaced) throw new RebuildOvertaken('Another rebuild of the shard began.');
}
