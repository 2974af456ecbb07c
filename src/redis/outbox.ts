import type { Redis } from 'ioredis';
import { handedKey, handedUpToKey, listenedKey, outboxKey, recentKey } from './keys.ts';
import { byServer } from './endpoints.ts';
import { OUTBOX } from '../packed/call-fields.ts';
import { Script } from './script.ts';
import { shardsInUse } from './shards-in-use.ts';

/** How long live streams can catch up with what left the outbox, and the most bytes kept for it, a shard. */
export const RECENT_MS = 300_000;
export const RECENT_BYTES = 16_777_216;
/** Entries are copied by so many: 256 of 500 bytes keep Redis for about 1 ms. */
const ENTRIES_A_TRIM = 256;

const trim = new Script('trim_outbox');

/** One entry of a shard's outbox: what one script call did, still packed. */
export interface OutboxEntry {
  /** Position in the stream: `<epoch ms>-<sequence>`, by Redis's clock. */
  id: string;
  tenantNo: number;
  /** Packed records one after another, see `record.ts`. */
  records: Buffer;
  /** The users touched and their packed state afterwards, see `state.ts`: id, state, id, state… */
  states: Buffer[];
}

/** An entry as Redis answers it: position, and names and values in turn. */
export type RawEntry = [id: Buffer, fields: Buffer[]];

/** Before everything. */
export const OUTBOX_START = '0-0';

const ENTRY_HEAD = 4;

/** Thrown for an entry that is not of the form above; `id` says which. */
export class MalformedEntry extends Error {
  readonly id: string;

  constructor(id: string, detail: string) {
    super(`Outbox entry ${id}: ${detail}`);
    this.name = 'MalformedEntry';
    this.id = id;
  }
}

/** The oldest entries after a position, at most `count`. Redis errors only; a malformed entry is found by `parseEntry`. */
export async function readOutbox(
  redis: Redis,
  { shard, after, count }: { shard: number; after: string; count: number },
): Promise<RawEntry[]> {
  return redis.xrangeBuffer(outboxKey(shard), `(${after}`, '+', 'COUNT', count);
}

/** Takes an entry apart without copying. Throws MalformedEntry. */
export function parseEntry([idBytes, fields]: RawEntry): OutboxEntry {
  const id = idBytes.toString('latin1');
  const tenantNo = Number(fields[1]?.toString('latin1'));
  const records = fields[3];
  const nameOf = (at: number): string | undefined => fields[at]?.toString('latin1');
  if (nameOf(0) !== OUTBOX.tenant || nameOf(2) !== OUTBOX.records || records === undefined)
    throw new MalformedEntry(id, `does not begin with the fields ${OUTBOX.tenant}, ${OUTBOX.records}`);
  if (!Number.isInteger(tenantNo) || tenantNo < 0) throw new MalformedEntry(id, 'has no tenant number');
  if (fields.length % 4 !== 0)
    throw new MalformedEntry(id, `does not end with pairs of ${OUTBOX.user}, ${OUTBOX.state}`);
  const states: Buffer[] = [];
  for (let i = ENTRY_HEAD; i < fields.length; i += 4) states.push(fields[i + 1] as Buffer, fields[i + 3] as Buffer);
  return { id, tenantNo, records, states };
}

/**
 * Removes the entries up to and including a position. Only for what Postgres holds. Idempotent. They are kept for as long as
 * `keep` says (`handed-over.ts`), and while somebody listens to a tenant's live stream, its entries go to the recent ones
 * (`live-streams.ts`), some at a time; where neither is the case this costs what XTRIM does.
 */
export async function trimOutbox(
  redis: Redis,
  shard: number,
  upTo: string,
  keep: { ms: number; bytes: number } = { ms: 0, bytes: 0 },
): Promise<void> {
  const keys = [outboxKey(shard), recentKey(shard), listenedKey(shard), handedKey(shard), handedUpToKey(shard)];
  const next = positionAfter(upTo);
  const args = [upTo, next, RECENT_MS, RECENT_BYTES, ENTRIES_A_TRIM, keep.ms, keep.bytes];
  try {
    while ((await trim.runUnguarded(redis, keys, args)) === 1);
  } catch (error) {
    // Redis is full. Trimming makes room, so it goes before what live streams may have missed: that they are listened to
    // is forgotten, which makes it a gap; and before what is kept.
    if (!(error instanceof Error && error.message.startsWith('OOM'))) throw error;
    await redis.del(listenedKey(shard), handedKey(shard), handedUpToKey(shard));
    await redis.xtrim(outboxKey(shard), 'MINID', '=', next);
  }
}

/** The next position after one. */
export function positionAfter(position: string): string {
  const [ms = '', sequence = ''] = position.split('-');
  return `${ms}-${BigInt(sequence) + 1n}`;
}

/** Script calls that Postgres does not hold yet. */
export const backlog = (redis: Redis, shard: number): Promise<number> => redis.xlen(outboxKey(shard));

/** The same of some shards together, of all in use without them. */
export async function wholeBacklog(redis: Redis, shards = shardsInUse(redis)): Promise<number> {
  const lengths = await Promise.all(shards.map((shard) => backlog(redis, shard)));
  return lengths.reduce((sum, length) => sum + length, 0);
}

/**
 * Bytes of Redis that the outboxes of some shards take, of all in use without them, exactly. Cost: 0.14 µs a node of the streams, of which each has up to
 * 4 KB or one larger entry: 0.2 ms of Redis for 100,000 entries of 250 bytes, 14 ms for as many of 3 KB. (A sample is
 * cheaper, but would be of the oldest entries: large ones behind many small ones would not be seen.)
 */
export async function wholeBacklogBytes(redis: Redis, shards = shardsInUse(redis)): Promise<number> {
  const sizes = await Promise.all(
    shards.map((shard) => redis.memory('USAGE', outboxKey(shard), 'SAMPLES', 0) as Promise<number | null>),
  );
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

/** The shards that have entries waiting for Postgres. */
export async function shardsWithEntries(redis: Redis, shards: readonly number[]): Promise<number[]> {
  const lengths = await Promise.all(shards.map((shard) => backlog(redis, shard)));
  return shards.filter((_, index) => lengths[index]! > 0);
}

/** The position of the youngest entry that ever was of a shard's stream, though it may have left; `0-0` before the first. */
export async function lastPosition(
  redis: Redis,
  shard: number,
  keyOf: (shard: number) => string = outboxKey,
): Promise<string> {
  let info: unknown[];
  try {
    info = (await redis.xinfo('STREAM', keyOf(shard))) as unknown[];
  } catch (error) {
    if (error instanceof Error && error.message.includes('no such key')) return OUTBOX_START;
    throw error;
  }
  return String(info[info.indexOf('last-generated-id') + 1]);
}

/**
 * The same of the outboxes of some shards, in their order. A Redis that has none of them, as at a first start, is asked one
 * command, else one for each.
 */
export async function lastPositions(redis: Redis, shards: readonly number[]): Promise<string[]> {
  const positions = new Map<number, string>();
  const ask = async (server: Redis, shard: number): Promise<void> =>
    void positions.set(shard, await lastPosition(server, shard));
  await Promise.all(
    byServer(redis, shards).map(async (server) => {
      const there = await server.redis.exists(server.shards.map((shard) => outboxKey(shard)));
      if (there > 0) await Promise.all(server.shards.map((shard) => ask(server.redis, shard)));
    }),
  );
  return shards.map((shard) => positions.get(shard) ?? OUTBOX_START);
}

/** How long the oldest entry of each shard's stream has been waiting, ms by Redis's clock; null where none waits. */
export async function waitingMs(
  redis: Redis,
  shards: readonly number[],
  keyOf: (shard: number) => string = outboxKey,
): Promise<(number | null)[]> {
  const waits = new Map<number, number | null>();
  for (const server of byServer(redis, shards)) {
    for (const [index, ms] of (await waitingOn(server, keyOf)).entries()) waits.set(server.shards[index]!, ms);
  }
  return shards.map((shard) => waits.get(shard) ?? null);
}

/** One command for all: of streams that are empty nothing is answered. */
async function waitingOn(
  { redis, shards }: { redis: Redis; shards: readonly number[] },
  keyOf: (shard: number) => string,
): Promise<(number | null)[]> {
  const keys = shards.map(keyOf);
  const [streams, [seconds, micros]] = await Promise.all([
    redis.xreadBuffer('COUNT', 1, 'STREAMS', ...keys, ...keys.map(() => OUTBOX_START)),
    redis.time(),
  ]);
  const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  const heads = new Map(streams?.map(([key, [head]]) => [key.toString(), head![0].toString()]));
  return keys.map((key) => {
    const head = heads.get(key);
    return head === undefined ? null : Math.max(0, nowMs - Number(head.split('-')[0]));
  });
}

/** How far Postgres is behind, ms: the time that the oldest entry of some shards, of all in use without them, has been waiting; 0 where none is. */
export async function persistLagMs(redis: Redis, shards = shardsInUse(redis)): Promise<number> {
  if (shards.length === 0) return 0;
  return Math.max(0, ...(await waitingMs(redis, shards)).map((ms) => ms ?? 0));
}

/** Negative, 0 or positive as position `a` is before, at or after `b`. */
export function comparePositions(a: string, b: string): number {
  const [aMs = '', aSequence = ''] = a.split('-');
  const [bMs = '', bSequence = ''] = b.split('-');
  return Number(aMs) - Number(bMs) || Number(BigInt(aSequence) - BigInt(bSequence));
}
