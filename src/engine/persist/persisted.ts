import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readCursor } from '../../postgres/persist/cursor.ts';
import { comparePositions, lastPosition } from '../../redis/outbox.ts';

const LOOKS = 50;
const LOOK_MS = 100;

/** Waits, 5 s at most, until Postgres holds what a shard's outbox holds now. False: it does not. */
export async function isPersisted({ redis, pool }: { redis: Redis; pool: Pool }, shard: number): Promise<boolean> {
  const last = await lastPosition(redis, shard);
  for (let look = 0; look < LOOKS; look += 1) {
    if (comparePositions(await readCursor(pool, shard), last) >= 0) return true;
    await sleep(LOOK_MS);
  }
  return false;
}
