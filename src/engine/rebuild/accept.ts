import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { exclusively } from '../../postgres/exclusively.ts';
import { lockCursors, setFence } from '../../postgres/rebuild/epoch.ts';
import { forgetHandedOver } from '../../redis/handed-over.ts';
import { transaction } from '../../postgres/transaction.ts';
import { StartError } from '../../start-error.ts';
import {
  fenceOf,
  foreignMark,
  gapsOf,
  inspect,
  isAccepted,
  isMarked,
  PostgresIsOlder,
  shardsBehind,
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

/** Held by the process that rebuilds. */
export const REBUILD_LOCK = 0x6c61_7265; // 'lare'

export interface AcceptOptions extends RebuildOptions {
  /** Called before a rebuild, with why; `first`: no Redis was ever filled from this Postgres, so nothing is amiss. */
  onNeeded?: (why: string, first: boolean) => void;
}

/**
 * Sees to it that Redis holds what Postgres does, and answers the fence of what may be stored from it. A Redis that was
 * found whole in this run of its process is taken at once; one that was started again, or another one, is compared; one
 * that lacks something is rebuilt. Null: another process is at that; ask again. Throws ForeignRedis, PostgresIsOlder.
 */
export async function accept(options: AcceptOptions): Promise<string | null> {
  const { redis, pool } = options;
  const seen = await inspect(redis, pool);
  if (isAccepted(seen) && shardsBehind(seen).length === 0 && gapsOf(seen).length === 0) return fenceOf(seen);
  return exclusively(pool, REBUILD_LOCK, async (lost) => {
    const first = await inspect(redis, pool);
    refuse(first);
    const why = await lacks(redis, pool);
    if (why !== null) {
      options.onNeeded?.(why, Number(first.epoch) === 0);
      await rebuild({ ...options, ending: either(lost, options.ending) });
    }
    const now = await inspect(redis, pool);
    return isAccepted(now) ? fenceOf(now) : null;
  });
}

/**
 * Rebuilds Redis whatever it holds: by hand. Waits for a rebuild under way in another process. Throws ForeignRedis,
 * PostgresIsOlder unless `acceptLoss`, and as `rebuild`.
 */
export async function rebuildAnyway(options: RebuildOptions & { acceptLoss?: boolean }): Promise<void> {
  const { redis, pool, ending, acceptLoss = false } = options;
  const tried = (): Promise<true | null> =>
    exclusively(pool, REBUILD_LOCK, async (lost): Promise<true> => {
      const seen = await inspect(redis, pool);
      if (acceptLoss) {
        for (const { shard } of gapsOf(seen)) await forgetHandedOver(redis, shard);
      }
      refuse(acceptLoss ? await inspect(redis, pool) : seen);
      await rebuild({ ...options, ending: either(lost, ending) });
      return true;
    });
  while ((await tried()) === null) await sleep(200, undefined, { ...(ending && { signal: ending }) });
}

/** Throws for what must not be touched: a Redis of another Laurel; one that holds traces of what Postgres has lost. */
function refuse(seen: Inspection): void {
  const foreign = foreignMark(seen);
  if (foreign !== null) throw new ForeignRedis(foreign);
  const gaps = gapsOf(seen);
  if (gaps.length > 0) throw new PostgresIsOlder(gaps);
}

const either = (one: AbortSignal, other: AbortSignal | undefined): AbortSignal =>
  other === undefined ? one : AbortSignal.any([one, other]);

/** What a Redis lacks; null, and its run is accepted from now on: nothing. */
function lacks(redis: Redis, pool: Pool): Promise<string | null> {
  return transaction(pool, async (client) => {
    // Persisters that are at work have ended after this, and none begins with what it read from an earlier run.
    await lockCursors(client);
    const seen = await inspect(redis, client);
    const why = reasonFor(seen);
    if (why === null) await setFence(client, { fence: fenceOf(seen) });
    return why;
  });
}

function reasonFor(seen: Inspection): string | null {
  const unmarked = seen.marks.filter((mark) => mark === null).length;
  if (unmarked > 0) return `${unmarked} of its ${seen.marks.length} shards are empty or were not rebuilt to the end`;
  if (!isMarked(seen)) return 'it is of an older epoch';
  const behind = shardsBehind(seen);
  if (behind.length > 0) return `it went back to before what Postgres holds (shards ${behind.join(', ')})`;
  return null;
}
