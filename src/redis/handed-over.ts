import type { Redis } from 'ioredis';
import { HANDED } from '../packed/call-fields.ts';
import { handedKey, handedUpToKey } from './keys.ts';
import { OUTBOX_START, type RawEntry } from './outbox.ts';

/*
What Postgres stored leaves the outbox, and is kept for a while: a Postgres that comes back older (a standby that took over a
moment behind, a backup) gets it again. What is no longer kept and Postgres does not hold is lost, which must not pass
unnoticed.
*/

/** How long entries are kept after they happened, and the most bytes of them, a shard. */
export const HANDED_MS = 10_000;
export const HANDED_BYTES = 16_777_216;

/** How far a shard's outbox was handed over to Postgres. */
export interface HandedOver {
  /** Postgres held everything up to here. */
  position: string;
  /** What was handed over after this position is kept. */
  floor: string;
}

/** How far a shard's outbox was handed over, and from where on that is kept. To be asked before Postgres's cursor. */
export async function readHandedOver(redis: Redis, shard: number): Promise<HandedOver> {
  const [position, floor] = await redis.hmget(handedUpToKey(shard), HANDED.position, HANDED.floor);
  if (typeof position !== 'string') return { position: OUTBOX_START, floor: OUTBOX_START };
  // Entries go oldest first, or all at once when none was added for long.
  const [newest] = await redis.xrevrange(handedKey(shard), '+', '-', 'COUNT', 1);
  return { position, floor: newest?.[0] === position ? (floor ?? OUTBOX_START) : position };
}

/** The position of `readHandedOver` alone, which is one round trip. */
export async function readHandedPosition(redis: Redis, shard: number): Promise<string> {
  return (await redis.hget(handedUpToKey(shard), HANDED.position)) ?? OUTBOX_START;
}

/** The oldest entries after a position of those that were handed over and are kept, at most `count`. */
export const readHanded = (
  redis: Redis,
  { shard, after, count }: { shard: number; after: string; count: number },
): Promise<RawEntry[]> => redis.xrangeBuffer(handedKey(shard), `(${after}`, '+', 'COUNT', count);

/** Takes it that Postgres holds what is not kept: it was lost, and somebody decided to go on without it. */
export async function forgetHandedOver(redis: Redis, shard: number): Promise<void> {
  const { position, floor } = await readHandedOver(redis, shard);
  if (floor === position) await redis.del(handedUpToKey(shard));
  else await redis.hset(handedUpToKey(shard), HANDED.floor, OUTBOX_START);
}
