import type { Redis } from 'ioredis';
import { HANDED } from '../packed/call-fields.ts';
import { handedKey, handedUpToKey } from './keys.ts';
import { OUTBOX_START, type RawEntry } from './outbox.ts';

/*
Entries that Postgres stored leave the outbox and are kept for a while. If Postgres comes back with older data (a failover to a
lagging standby, a restored backup), it receives them again. Entries that are neither kept nor in Postgres are lost, which must not go
unnoticed.
 */

/** How long entries are kept after they happened, and the most bytes per shard. */
export const HANDED_MS = 10_000;
export const HANDED_BYTES = 16_777_216;

/** How far a shard's outbox was handed over to Postgres. */
export interface HandedOver {
  /** Postgres held everything up to this position. */
  position: string;
  /** Everything handed over after this position is kept. */
  floor: string;
}

/** Reads how far a shard's outbox was handed over, and from where entries are kept. Call it before reading Postgres's cursor. */
export async function readHandedOver(redis: Redis, shard: number): Promise<HandedOver> {
  const [position, floor] = await redis.hmget(handedUpToKey(shard), HANDED.position, HANDED.floor);
  if (typeof position !== 'string') return { position: OUTBOX_START, floor: OUTBOX_START };
  // Entries expire oldest first, or all at once if none was added for a long time.
  const [newest] = await redis.xrevrange(handedKey(shard), '+', '-', 'COUNT', 1);
  return { position, floor: newest?.[0] === position ? (floor ?? OUTBOX_START) : position };
}

/** Only the position of `readHandedOver`, in one round trip. */
export async function readHandedPosition(redis: Redis, shard: number): Promise<string> {
  return (await redis.hget(handedUpToKey(shard), HANDED.position)) ?? OUTBOX_START;
}

/** The oldest kept entries after a position, at most `count`. */
export const readHanded = (
  redis: Redis,
  { shard, after, count }: { shard: number; after: string; count: number },
): Promise<RawEntry[]> => redis.xrangeBuffer(handedKey(shard), `(${after}`, '+', 'COUNT', count);

/** Gives up entries that are no longer kept: they are lost, and an administrator decided to continue without them. */
export async function forgetHandedOver(redis: Redis, shard: number): Promise<void> {
  const { position, floor } = await readHandedOver(redis, shard);
  if (floor === position) await redis.del(handedUpToKey(shard));
  else await redis.hset(handedUpToKey(shard), HANDED.floor, OUTBOX_START);
}
