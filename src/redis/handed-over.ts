import type { Redis } from 'ioredis';
import { HANDED } from '../packed/call-fields.ts';
import { byCommand, connectionOf } from './endpoints.ts';
import { handedKey, handedUpToKey, outboxKey } from './keys.ts';
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

/** The end of a shard's outbox, and how far it was handed over. */
export interface OutboxEnds {
  /** Position of the newest entry ever added, even if it was removed; `0-0` before the first. */
  last: string;
  handed: HandedOver;
}

/** Three keys a shard: outbox, kept entries, how far they were handed over. Returns four values a shard; see `endsOf`. */
const READ_ENDS = `
local ends = {}
for at = 1, #KEYS, 3 do
  local outbox, kept, up_to = KEYS[at], KEYS[at + 1], KEYS[at + 2]
  local last = false
  if redis.call('EXISTS', outbox) == 1 then
    local info = redis.call('XINFO', 'STREAM', outbox)
    for name = 1, #info, 2 do
      if info[name] == 'last-generated-id' then last = info[name + 1] end
    end
  end
  local handed = redis.call('HMGET', up_to, '${HANDED.position}', '${HANDED.floor}')
  local newest = redis.call('XREVRANGE', kept, '+', '-', 'COUNT', 1)[1]
  ends[#ends + 1] = { last, handed[1], handed[2], newest and newest[1] or false }
end
return ends`;

/** One call takes Redis about a quarter of a millisecond. */
const SHARDS_A_CALL = 64;

/**
 * The ends of some shards' outboxes, in their order. Call it before reading Postgres's cursors. Every start and every change of
 * Redis asks for all 256 shards, several times: one call for 64 of them replaces 192 commands. Throws errors of Redis.
 */
export async function readOutboxEnds(redis: Redis, shards: readonly number[]): Promise<OutboxEnds[]> {
  const calls = byCommand(redis, shards).flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / SHARDS_A_CALL) }, (_, nth) =>
      group.slice(nth * SHARDS_A_CALL, (nth + 1) * SHARDS_A_CALL),
    ),
  );
  const replies = await Promise.all(
    calls.map((some) => {
      const keys = some.flatMap((shard) => [outboxKey(shard), handedKey(shard), handedUpToKey(shard)]);
      return connectionOf(redis, some[0]!).eval_ro(READ_ENDS, keys.length, ...keys) as Promise<(string | null)[][]>;
    }),
  );
  return replies.flat().map(endsOf);
}

function endsOf([last, position, floor, newest]: (string | null)[]): OutboxEnds {
  return {
    last: last ?? OUTBOX_START,
    handed:
      typeof position !== 'string'
        ? { position: OUTBOX_START, floor: OUTBOX_START }
        : // Entries expire oldest first, or all at once if none was added for a long time.
          { position, floor: newest === position ? (floor ?? OUTBOX_START) : position },
  };
}

/** How far a shard's outbox was handed over, and from where entries are kept. Call it before reading Postgres's cursor. */
export const readHandedOver = async (redis: Redis, shard: number): Promise<HandedOver> =>
  (await readOutboxEnds(redis, [shard]))[0]!.handed;

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
