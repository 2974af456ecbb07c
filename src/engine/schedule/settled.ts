import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { usedShards } from '../../postgres/shards.ts';
import { batchWaits, newestBatch, shardsWithBatches } from '../../redis/batches.ts';
import { lastPosition, OUTBOX_START, shardsWithEntries } from '../../redis/outbox.ts';
import { cursorReaches } from '../persist/cursor-wait.ts';
import type { Persister } from '../persist/persister.ts';

const PATIENCE_MS = 30_000;
const LOOK_MS = 10;
/** Skips pauses, because a caller waits. */
const HURRY = AbortSignal.abort();

/**
 * Waits until all events accepted so far, including those of batches, are applied and stored in Postgres. Does not wait
 * for events that arrive meanwhile. Costs a round trip to each of the two servers if there is nothing to wait for.
 * Returns false on abort, or after half a minute without progress. Rejects if Redis or Postgres is away.
 */
export async function settled(
  redis: Redis,
  pool: Pool,
  persister: Pick<Persister, 'drain' | 'hasten'>,
  ending: AbortSignal,
): Promise<boolean> {
  let endMs = performance.now() + PATIENCE_MS;
  const until = async (holds: () => Promise<boolean>): Promise<boolean> => {
    while (!ending.aborted && performance.now() < endMs) {
      if (await holds()) return true;
      await sleep(LOOK_MS);
    }
    return false;
  };
  const shards = await usedShards(pool);
  for (const shard of await shardsWithBatches(redis, shards)) {
    const newest = await newestBatch(redis, shard);
    const processed = async (): Promise<boolean> => newest === null || !(await batchWaits(redis, shard, newest));
    if (!(await until(processed))) return false;
  }
  for (const shard of await shardsWithEntries(redis, shards)) {
    const last = await lastPosition(redis, shard);
    let cursor = OUTBOX_START;
    const stored = async (): Promise<boolean> => {
      // Beside this process's own work, a second one would read the same entries, and store few at a time.
      if (!persister.hasten(shard)) await persister.drain(shard, HURRY, last);
      const before = cursor;
      const seen = await cursorReaches(pool, shard, { position: last, stillMs: LOOK_MS, movingMs: LOOK_MS });
      cursor = seen.cursor;
      if (cursor !== before) endMs = performance.now() + PATIENCE_MS;
      return seen.end === 'reached';
    };
    if (!(await until(stored))) return false;
  }
  return true;
}
