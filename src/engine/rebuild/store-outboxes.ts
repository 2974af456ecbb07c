import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { Catalogs } from '../../catalog/catalogs.ts';
import { FixedClock, systemClock } from '../../clock.ts';
import { readEpoch } from '../../postgres/rebuild/epoch.ts';
import { readClock } from '../../postgres/test-clock.ts';
import { comparePositions, lastPosition } from '../../redis/outbox.ts';
import { Reporter } from '../notifications/reporter.ts';
import { Persister } from '../persist/persister.ts';
import type { SetAside } from '../persist/set-aside.ts';

/** Stores what the outboxes of some shards that are shut hold beyond the cursors. One that ends before its cursor holds nothing that is not stored. */
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
  let done = 0;
  const ends = await Promise.all(shards.map((shard) => lastPosition(redis, shard)));
  for (const [index, shard] of shards.entries()) {
    await report({ step: 'store outbox', done, total: null });
    if (comparePositions(ends[index]!, cursors[shard]!.position) > 0)
      done += await persister.drain(shard, AbortSignal.abort());
  }
}
