import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { exclusively, inTurn } from '../../postgres/exclusively.ts';
import { lockCursors, setFences } from '../../postgres/rebuild/epoch.ts';
import { forgetHandedOver } from '../../redis/handed-over.ts';
import { refuseOtherVersions } from '../../postgres/running-versions.ts';
import { transaction } from '../../postgres/transaction.ts';
import { StartError } from '../../start-error.ts';
import type { Accepted } from '../../redis/gate.ts';
import { SHARD_NUMBERS } from '../../redis/keys.ts';
import { runOfFence } from '../../redis/run.ts';
import {
  acceptedShards,
  epochOf,
  fenceOf,
  foreignMark,
  gapsOf,
  inspect,
  isBehind,
  isMarked,
  ownVersion,
  PostgresIsOlder,
  type Inspection,
} from './inspect.ts';
import { rebuild, type RebuildOptions } from './rebuild.ts';

/** The Redis holds the data of another Laurel; nothing is done to it. */
export class ForeignRedis extends StartError {
  constructor(mark: string) {
    super(
      `This Redis holds the data of another Laurel (${mark.split(':')[0]}): REDIS_URL or DATABASE_URL is wrong. ` +
        'If it is to be taken over, empty it.',
    );
    this.name = 'ForeignRedis';
  }
}

/** The entries of REDIS_URL do not lead where the shards are placed; nothing is done to this Redis. */
export class WrongLayout extends StartError {
  constructor(what: string) {
    super(`REDIS_URL does not fit where the shards are: ${what}. \`laurel shards list\` says where they are placed.`);
    this.name = 'WrongLayout';
  }
}

/** Held by the process that rebuilds. */
export const REBUILD_LOCK = 0x6c61_7265; // 'lare'

export interface AcceptOptions extends RebuildOptions {
  shards: readonly number[];
  /** Called before a rebuild, with what and why; `first`: no Redis was ever filled from this Postgres, so nothing is amiss. */
  onNeeded?: (shards: readonly number[], why: string, first: boolean) => void;
}

/**
 * Sees to it that Redis holds what Postgres does of some shards, and answers what those were accepted as that do. Shards that were
 * found whole in this run of its process are taken at once; those of one that was started again, or of another one, are
 * compared; those that lack something are rebuilt, once the others are taken. One that is left out: another process is at that,
 * or it comes with the next call. Throws ForeignRedis, PostgresIsOlder, OtherVersionRuns.
 */
export async function accept(options: AcceptOptions): Promise<Map<number, Accepted>> {
  const { redis, pool, shards } = options;
  const seen = await inspect(redis, pool, shards);
  const accepted = gapsOf(seen).length > 0 ? new Map<number, Accepted>() : acceptedShards(seen);
  if (accepted.size > 0) return accepted;
  const taken = await exclusively(pool, REBUILD_LOCK, async (lost) => {
    refuse(await inspect(redis, pool, shards));
    const { lacking, why, first } = await compare(redis, pool, shards);
    if (lacking.length === shards.length) {
      await refuseOtherVersions(pool, ownVersion());
      options.onNeeded?.(lacking, why, first);
      await rebuild({ ...options, shards: lacking, ending: either(lost, options.ending) });
    }
    return acceptedShards(await inspect(redis, pool, shards));
  });
  return taken ?? accepted;
}

/**
 * Rebuilds some shards of Redis, or all, whatever they hold: by hand. Waits for a rebuild under way in another process. Throws
 * ForeignRedis, PostgresIsOlder unless `acceptLoss`, and as `rebuild`.
 */
export async function rebuildAnyway(options: RebuildOptions & { acceptLoss?: boolean }): Promise<void> {
  const { redis, pool, ending, acceptLoss = false, shards = SHARD_NUMBERS } = options;
  const work = async (lost: AbortSignal): Promise<void> => {
    const seen = await inspect(redis, pool, shards);
    if (acceptLoss) {
      for (const { shard } of gapsOf(seen)) await forgetHandedOver(redis, shard);
    }
    refuse(acceptLoss ? await inspect(redis, pool, shards) : seen);
    await rebuild({ ...options, ending: either(lost, ending) });
  };
  await inTurn(pool, REBUILD_LOCK, { work, ending });
}

/**
 * Throws for what must not be touched: a Redis of another Laurel; one that holds traces of what Postgres has lost, unless that loss is
 * accepted.
 */
export function refuse(seen: Inspection, acceptLoss = false): void {
  const foreign = foreignMark(seen);
  if (foreign !== null) throw new ForeignRedis(foreign);
  const gaps = acceptLoss ? [] : gapsOf(seen);
  if (gaps.length > 0) throw new PostgresIsOlder(gaps);
}

/** Aborted when either is. */
export const either = (one: AbortSignal, other: AbortSignal | undefined): AbortSignal =>
  other === undefined ? one : AbortSignal.any([one, other]);

/** Which shards lack something, and why. Those that lack nothing are accepted in this run from now on. */
function compare(
  redis: Redis,
  pool: Pool,
  shards: readonly number[],
): Promise<{ lacking: number[]; why: string; first: boolean }> {
  return transaction(pool, async (client) => {
    // Persisters that are at work have ended after this, and none begins with what it read from an earlier run.
    await lockCursors(client, shards);
    const seen = await inspect(redis, client, shards);
    const reasons = reasonsFor(seen);
    const sameByEpoch = new Map<number, number[]>();
    for (const { shard, cursor } of seen.shards) {
      const epoch = epochOf(cursor);
      if (!reasons.has(shard)) sameByEpoch.set(epoch, [...(sameByEpoch.get(epoch) ?? []), shard]);
    }
    for (const [epoch, same] of sameByEpoch) await setFences(client, same, { fence: fenceOf(epoch, seen.run) });
    const first = seen.shards.every(({ cursor }) => epochOf(cursor) === 0);
    return { lacking: [...reasons.keys()], why: [...new Set(reasons.values())].join('; '), first };
  });
}

/** Why a shard is to be rebuilt, by shard. */
function reasonsFor(seen: Inspection): Map<number, string> {
  const reasons = new Map<number, string>();
  for (const each of seen.shards) {
    if (each.mark === null) reasons.set(each.shard, 'it is empty or was not rebuilt to the end');
    else if (!isMarked(each, seen)) reasons.set(each.shard, 'it belongs to an older epoch');
    else if (isBehind(each)) reasons.set(each.shard, WENT_BACK);
  }
  if (![...reasons.values()].includes(WENT_BACK)) return reasons;
  // A server that went back did so with all that it holds, which shows only where something was stored since.
  for (const { shard, cursor } of seen.shards) {
    if (runOfFence(cursor.fence) !== seen.run && !reasons.has(shard)) reasons.set(shard, WENT_BACK);
  }
  return reasons;
}

const WENT_BACK = 'Redis went back to before what Postgres holds';
