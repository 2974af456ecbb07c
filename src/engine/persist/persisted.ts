import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readCursor } from '../../postgres/persist/cursor.ts';
import { comparePositions, lastPosition } from '../../redis/outbox.ts';
import { noteAwaited } from '../../redis/storing-order.ts';

const LOOK_MS = 25;
/** How long is waited while nothing moves, and while it does. */
const PATIENCE = { stillMs: 5_000, movingMs: 30_000 };

/** Waits, for as long as `patience` says, until Postgres holds what a shard's outbox holds now. False: it does not. */
export async function isPersisted(
  { redis, pool }: { redis: Redis; pool: Pool },
  shard: number,
  { stillMs, movingMs } = PATIENCE,
): Promise<boolean> {
  const last = await lastPosition(redis, shard);
  let cursor = await readCursor(pool, shard);
  if (comparePositions(cursor, last) >= 0) return true;
  await noteAwaited(redis, shard);
  const began = performance.now();
  let moved = began;
  while (performance.now() < Math.min(moved + stillMs, began + movingMs)) {
    await sleep(LOOK_MS);
    const next = await readCursor(pool, shard);
    if (comparePositions(next, last) >= 0) return true;
    if (next !== cursor) moved = performance.now();
    cursor = next;
  }
  return false;
}
