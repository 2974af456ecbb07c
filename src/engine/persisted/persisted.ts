import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { lastPosition } from '../../redis/outbox.ts';
import { noteAwaited } from '../../redis/storing-order.ts';
import { cursorReaches } from './cursor-watch.ts';

/** How long is waited while nothing moves, and while it does. */
const PATIENCE = { stillMs: 5_000, movingMs: 30_000 };

/** Waits, for as long as `patience` says, until Postgres holds what a shard's outbox holds now. False: it does not. */
export async function isPersisted(
  { redis, pool }: { redis: Redis; pool: Pool },
  shard: number,
  patience = PATIENCE,
): Promise<boolean> {
  const position = await lastPosition(redis, shard);
  const { end } = await cursorReaches(pool, shard, { position, ...patience, onBehind: sayAwaited(redis, shard) });
  return end === 'reached';
}

/** Says once that a caller waits. A hint: one that is lost costs time and nothing else. */
export function sayAwaited(redis: Redis, shard: number): () => void {
  let said = false;
  return () => {
    if (said) return;
    said = true;
    noteAwaited(redis, shard).catch(() => undefined);
  };
}
