import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { AppError } from '../../errors.ts';
import { readCursor } from '../../postgres/persist/cursor.ts';
import { shardOf } from '../../redis/keys.ts';
import { comparePositions, lastPosition } from '../../redis/outbox.ts';

const LOOK_MS = 25;
const PATIENCE_MS = 10_000;

/** Resolves when Postgres holds what was written for a tenant before the call. 503 if that takes more than 10 s. */
export async function untilPersisted({ redis, pool }: { redis: Redis; pool: Pool }, tenantNo: number): Promise<void> {
  const shard = shardOf(tenantNo);
  const last = await lastPosition(redis, shard);
  const endMs = performance.now() + PATIENCE_MS;
  while (comparePositions(await readCursor(pool, shard), last) < 0) {
    if (performance.now() > endMs) {
      throw new AppError('unavailable', 'What was written before is not stored yet; try again in a moment.');
    }
    await sleep(LOOK_MS);
  }
}
