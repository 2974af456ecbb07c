import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { Catalogs } from '../../catalog/catalogs.ts';
import { FixedClock, systemClock } from '../../clock.ts';
import { readEpoch } from '../../postgres/rebuild/epoch.ts';
import { readClock } from '../../postgres/test-clock.ts';
import { readHandedPosition } from '../../redis/handed-over.ts';
import { comparePositions, lastPositions, readOutbox } from '../../redis/outbox.ts';
import { Reporter } from '../notifications/reporter.ts';
import { Persister } from '../persist/persister.ts';
import type { SetAside } from '../persist/set-aside.ts';
import { RebuildOvertaken } from './loader.ts';

/** How soon it is tried again while another persister, which read before the shard was shut, still holds the cursor. */
const AGAIN_MS = 20;

/**
 * Stores all that the outboxes of some shards that are shut hold beyond the cursors. One that ends before its cursor holds nothing
 * that is not stored. Throws RebuildOvertaken when the shards are shut with another fence by now.
 */
export async function storeOutboxes({
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
  /** The one that they were shut with. */
  fence: string;
  report: (progress: { step: 'store outbox'; done: number; total: null }) => Promise<void>;
  onSetAside?: ((entry: SetAside) => void) | undefined;
  onLeftOut?: ((error: unknown) => void) | undefined;
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
  const ends = await lastPositions(redis, shards);
  let done = 0;
  for (const [index, shard] of shards.entries()) {
    await report({ step: 'store outbox', done, total: null });
    if (comparePositions(ends[index]!, cursors[shard]!.position) <= 0) continue;
    // A persister that read under the older fence stores nothing, but holds the cursor until it knows, and `drain` passes then.
    for (;;) {
      done += await persister.drain(shard, AbortSignal.abort());
      if (await isStored({ redis, pool, shard, fence })) break;
      await sleep(AGAIN_MS);
      await report({ step: 'store outbox', done, total: null });
    }
  }
}

/** Whether Postgres holds all of a shard's outbox. */
async function isStored({
  redis,
  pool,
  shard,
  fence,
}: {
  redis: Redis;
  pool: Pool;
  shard: number;
  fence: string;
}): Promise<boolean> {
  const cursor = (await readEpoch(pool)).cursors[shard]!;
  if (cursor.fence !== fence) throw new RebuildOvertaken('Another rebuild of the shard began.');
  // A Postgres that came back older lacks what left the outbox and is kept.
  if (comparePositions(await readHandedPosition(redis, shard), cursor.position) > 0) return false;
  return (await readOutbox(redis, { shard, after: cursor.position, count: 1 })).length === 0;
}
