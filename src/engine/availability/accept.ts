import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { type Accepted, epochNumberOf, redisProcessIdOf, storageEpochOf } from '../../domain/shard-state.ts';
import { exclusively, inTurn, transaction } from '../../postgres/transaction.ts';
import { lockCursors, setStorageEpochs } from '../../postgres/shards.ts';
import { refuseOtherVersions } from '../../postgres/running-versions.ts';
import { slotOfTag } from '../../redis/cluster-layout.ts';
import { byServer, isOfCluster } from '../../redis/endpoints.ts';
import { forgetHandedOver } from '../../redis/handed-over.ts';
import { SHARD_NUMBERS } from '../../redis/keys.ts';
import { readRedisProcessId } from '../../redis/server-info.ts';
import { StartError } from '../../start-error.ts';
import { ownVersion } from '../rebuild/marks.ts';
import { rebuild, type RebuildOptions } from '../rebuild/rebuild.ts';
import {
  acceptedShards,
  foreignMark,
  gapsOf,
  inspect,
  isBehind,
  isMarked,
  PostgresIsOlder,
  type Inspection,
} from './inspection.ts';
import { addTo } from '../../grouped.ts';

/** The Redis holds the data of another Laurel installation; Laurel leaves it untouched. */
export class ForeignRedis extends StartError {
  constructor(mark: string) {
    super(
      `This Redis holds the data of another Laurel (${mark.split(':')[0]}): REDIS_URL or DATABASE_URL is wrong. ` +
        'To use it for this Laurel, empty it first.',
    );
    this.name = 'ForeignRedis';
  }
}

/** The advisory lock of the process that rebuilds. */
export const REBUILD_LOCK = 0x6c61_7265; // 'lare'
/** The first of as many locks as there are slots, for the nodes of a cluster. */
const NODE_LOCKS = 0x6c62_0000;

/** Each master has its own lock, so several can be rebuilt at once. Equal hashes share one. */
export const lockOf = (redis: Redis, redisProcessId: string): number =>
  isOfCluster(redis) ? NODE_LOCKS + slotOfTag(redisProcessId) : REBUILD_LOCK;

export interface AcceptOptions extends RebuildOptions {
  shards: readonly number[];
  /** Called before a rebuild. `first`: no Redis was ever filled from this Postgres, so nothing is lost. */
  onRebuild?: (rebuilt: { shards: readonly number[]; why: string; first: boolean }) => void;
}

/**
 * Ensures that Redis holds what Postgres holds of some shards. Returns the accepted shards with the identity of their
 * data. Shards that were complete in this Redis process before are accepted at once; the others are compared under a
 * lock. If all of those lack something, they are rebuilt; if only some do, the next call rebuilds them. A shard that is
 * missing from the result is being rebuilt by another process, or is left for the next call. Throws ForeignRedis,
 * PostgresIsOlder, OtherVersionRuns.
 */
export async function accept(options: AcceptOptions): Promise<Map<number, Accepted>> {
  const { redis, pool, shards } = options;
  const seen = await inspect(redis, pool, shards);
  const accepted = gapsOf(seen).length > 0 ? new Map<number, Accepted>() : acceptedShards(seen);
  if (accepted.size > 0) return accepted;
  const moved = movedWhole(redis, seen);
  if (moved.length > 0) {
    await compare(redis, pool, moved);
    return acceptedShards(await inspect(redis, pool, shards));
  }
  const outcome = await exclusively(pool, lockOf(redis, seen.redisProcessId), async (lost) => {
    const { lacking, why, first } = await compare(redis, pool, shards);
    if (lacking.length === shards.length) {
      await refuseOtherVersions(pool, ownVersion());
      options.onRebuild?.({ shards: lacking, why, first });
      await rebuild({ ...options, shards: lacking, ending: either(lost, options.ending) });
    }
    return acceptedShards(await inspect(redis, pool, shards));
  });
  return outcome ?? accepted;
}

/** Rebuilds the requested shards, even intact ones, one server at a time. Throws the errors of `refuse` and `rebuild`. */
export async function rebuildServers(options: RebuildOptions & { acceptLoss?: boolean }): Promise<void> {
  const { redis, pool, ending, acceptLoss = false, shards = SHARD_NUMBERS } = options;
  const servers = byServer(redis, shards);
  for (const server of servers) refuse(await inspect(server.redis, pool, server.shards), acceptLoss);
  for (const server of servers) {
    const work = async (lost: AbortSignal): Promise<void> => {
      const seen = await inspect(server.redis, pool, server.shards);
      if (acceptLoss) {
        for (const { shard } of gapsOf(seen)) await forgetHandedOver(server.redis, shard);
      }
      refuse(acceptLoss ? await inspect(server.redis, pool, server.shards) : seen);
      await rebuild({ ...options, ...server, ending: either(lost, ending) });
    };
    const lock = lockOf(server.redis, await readRedisProcessId(server.redis));
    await inTurn(pool, lock, work, ending);
  }
}

/** Throws ForeignRedis, or PostgresIsOlder unless the operator accepts the loss. */
export function refuse(seen: Inspection, acceptLoss = false): void {
  const foreign = foreignMark(seen);
  if (foreign !== null) throw new ForeignRedis(foreign);
  const gaps = acceptLoss ? [] : gapsOf(seen);
  if (gaps.length > 0) throw new PostgresIsOlder(gaps);
}

/** Aborted when either signal is. */
export const either = (one: AbortSignal, other: AbortSignal | undefined): AbortSignal =>
  other === undefined ? one : AbortSignal.any([one, other]);

/**
 * The shards of a cluster node that are complete although another Redis process held them when they were accepted: the
 * cluster moved their slots, or a replica took over. Empty if any shard shows that the node went back in time. They are
 * compared without the lock, since another process may hold it for long to rebuild other shards.
 */
function movedWhole(redis: Redis, seen: Inspection): number[] {
  if (!isOfCluster(redis) || foreignMark(seen) !== null || gapsOf(seen).length > 0 || seen.shards.some(isBehind))
    return [];
  const isRebuilding = (storageEpoch: string): boolean => redisProcessIdOf(storageEpoch) === '';
  const complete = seen.shards.filter((each) => isMarked(each, seen) && !isRebuilding(each.cursor.storageEpoch));
  return complete.map(({ shard }) => shard);
}

interface Comparison {
  lacking: number[];
  why: string;
  first: boolean;
}

/**
 * Finds the shards that lack something, and why. Gives the others a storage epoch of this Redis process. Throws the errors of
 * `refuse`.
 */
function compare(redis: Redis, pool: Pool, shards: readonly number[]): Promise<Comparison> {
  return transaction(pool, async (client) => {
    // Waits for running persisters. Afterwards none can store entries that it read from an earlier Redis process.
    await lockCursors(client, shards);
    const seen = await inspect(redis, client, shards);
    refuse(seen);
    const reasons = rebuildReasons(seen);
    const completeByEpoch = new Map<number, number[]>();
    for (const { shard, cursor } of seen.shards) {
      const epoch = epochNumberOf(cursor.storageEpoch);
      if (!reasons.has(shard)) addTo(completeByEpoch, epoch, shard);
    }
    for (const [epoch, complete] of completeByEpoch)
      await setStorageEpochs(client, complete, { storageEpoch: storageEpochOf(epoch, seen.redisProcessId) });
    const first = seen.shards.every(({ cursor }) => epochNumberOf(cursor.storageEpoch) === 0);
    return { lacking: [...reasons.keys()], why: [...new Set(reasons.values())].join('; '), first };
  });
}

/** The reason for the rebuild of each shard that lacks something. */
function rebuildReasons(seen: Inspection): Map<number, string> {
  const reasons = new Map<number, string>();
  for (const each of seen.shards) {
    if (each.mark === null) reasons.set(each.shard, 'it is empty or was not rebuilt to the end');
    else if (!isMarked(each, seen)) reasons.set(each.shard, 'it belongs to an older epoch');
    else if (isBehind(each)) reasons.set(each.shard, WENT_BACK);
  }
  if (![...reasons.values()].includes(WENT_BACK)) return reasons;
  // A server goes back in time with all of its shards, but only those with later writes show it.
  for (const { shard, cursor } of seen.shards) {
    const isSameProcess = redisProcessIdOf(cursor.storageEpoch) === seen.redisProcessId;
    if (!isSameProcess && !reasons.has(shard)) reasons.set(shard, WENT_BACK);
  }
  return reasons;
}

const WENT_BACK = 'Redis went back to a state before that of Postgres';
