import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readEpoch } from '../../postgres/rebuild/epoch.ts';
import { outboxKey } from '../../redis/keys.ts';
import { comparePositions, lastPosition } from '../../redis/outbox.ts';

/** Writes of a process that are gone: in neither Redis nor Postgres. */
export interface LostWrites {
  shard: number;
  /** Position of the last write that was acknowledged. */
  acknowledged: string;
  /** How far Redis came when that was looked at. */
  held: string;
}

/**
 * Which of the last writes that a process acknowledged, by shard, a Redis that took over does not hold and Postgres does not either: a
 * replica takes over with what it was sent, and its master may have answered before that. To be asked before the process
 * writes to it.
 */
export async function lostWrites(
  { redis, pool }: { redis: Redis; pool: Pool },
  last: ReadonlyMap<number, string>,
): Promise<LostWrites[]> {
  const lost: LostWrites[] = [];
  for (const [shard, acknowledged] of last) {
    const [found, held] = await Promise.all([
      redis.xrange(outboxKey(shard), acknowledged, acknowledged),
      lastPosition(redis, shard),
    ]);
    if (found.length > 0) continue;
    // After Redis: what left the outbox meanwhile is stored by now.
    const { cursors } = await readEpoch(pool);
    if (comparePositions(cursors[shard]!.position, acknowledged) < 0) lost.push({ shard, acknowledged, held });
  }
  return lost;
}
