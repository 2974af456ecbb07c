import type { Redis } from 'ioredis';
import { Packr } from 'msgpackr';
import { OUTBOX } from '../packed/call-fields.ts';
import { unpack, unpackEach } from '../packed/state.ts';
import { byCommand, byServer, shardsInUse } from './endpoints.ts';
import {
  awaitedKey,
  handedKey,
  handedUpToKey,
  keptEntriesKey,
  listenedKey,
  outboxKey,
  recentKey,
  sweepKey,
} from './keys.ts';
import { Script } from './script.ts';

/** How long live streams can replay entries that left the outbox, and the most bytes kept per shard. */
export const RECENT_MS = 300_000;
export const RECENT_BYTES = 16_777_216;
/** Entries copied per call. In an overload, each has up to 128 events. */
const ENTRIES_A_TRIM = 32;

const trim = new Script('trim_outbox');

/** An entry of a shard's outbox: the packed result of one script call. */
export interface OutboxEntry {
  /** Position in the stream: `<epoch ms>-<sequence>`, by Redis's clock. */
  id: string;
  tenantNo: number;
  /** Concatenated packed records; see `record.ts`. */
  records: Buffer;
  /** Alternating IDs and packed new states of the changed users; see `state.ts`. */
  states: Buffer[];
}

/** An entry as Redis returns it: position, then alternating names and values. */
export type RawEntry = [id: Buffer, fields: Buffer[]];

export const OUTBOX_START = '0-0';

const ENTRY_HEAD = 4;

/** An entry that does not have the form above. `id`: its position. */
export class MalformedEntry extends Error {
  readonly id: string;

  constructor(id: string, detail: string) {
    super(`Outbox entry ${id}: ${detail}`);
    this.name = 'MalformedEntry';
    this.id = id;
  }
}

/** The oldest entries after a position, at most `count`. Throws only errors of Redis; `parseEntry` detects malformed entries. */
export async function readOutbox(
  redis: Redis,
  { shard, after, count }: { shard: number; after: string; count: number },
): Promise<RawEntry[]> {
  return redis.xrangeBuffer(outboxKey(shard), `(${after}`, '+', 'COUNT', count);
}

/** Parses an entry without copying. Throws MalformedEntry. */
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
 * Removes the entries up to and including a position. Postgres must hold them. Idempotent. Keeps a copy for as long as `keep`
 * says (`handed-over.ts`), and copies entries of tenants with live stream listeners to the recent ones (`live-streams.ts`), a
 * few at a time. Without either, it costs as much as XTRIM.
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
    // Redis is full. Trimming frees memory, so it takes priority over the copies: forgetting the listeners makes their streams
    // report a gap.
    if (!(error instanceof Error && error.message.startsWith('OOM'))) throw error;
    await redis.del(listenedKey(shard), handedKey(shard), handedUpToKey(shard));
    await redis.xtrim(outboxKey(shard), 'MINID', '=', next);
  }
}

export function positionAfter(position: string): string {
  const [ms = '', sequence = ''] = position.split('-');
  return `${ms}-${BigInt(sequence) + 1n}`;
}

/** Number of script calls that Postgres does not hold yet. */
export const backlog = (redis: Redis, shard: number): Promise<number> => redis.xlen(outboxKey(shard));

export async function wholeBacklog(redis: Redis, shards = shardsInUse(redis)): Promise<number> {
  const lengths = await Promise.all(shards.map((shard) => backlog(redis, shard)));
  return lengths.reduce((sum, length) => sum + length, 0);
}

/**
 * Exact memory of some shards' outboxes in bytes; by default, of all in use. Costs 0.14 µs per stream node (up to 4 KB or one
 * larger entry): 0.2 ms of Redis for 100,000 entries of 250 bytes, 14 ms for entries of 3 KB. Sampling is cheaper but covers
 * only the oldest entries, and would miss large ones behind many small ones.
 */
export async function wholeBacklogBytes(redis: Redis, shards = shardsInUse(redis)): Promise<number> {
  const sizes = await Promise.all(
    shards.map((shard) => redis.memory('USAGE', outboxKey(shard), 'SAMPLES', 0) as Promise<number | null>),
  );
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

/** The shards whose stream has entries. */
export async function shardsWithEntries(
  redis: Redis,
  shards: readonly number[],
  keyOf: (shard: number) => string = outboxKey,
): Promise<number[]> {
  const heads = await Promise.all(byServer(redis, shards).map((server) => headsOn(server, keyOf)));
  const filled = new Set(heads.flatMap((some) => [...some.keys()]));
  return shards.filter((shard) => filled.has(keyOf(shard)));
}

/** Position of the newest entry ever added to a shard's stream, even if it was removed; `0-0` before the first. */
export async function lastPosition(redis: Redis, shard: number): Promise<string> {
  let info: unknown[];
  try {
    info = (await redis.xinfo('STREAM', outboxKey(shard))) as unknown[];
  } catch (error) {
    if (error instanceof Error && error.message.includes('no such key')) return OUTBOX_START;
    throw error;
  }
  return String(info[info.indexOf('last-generated-id') + 1]);
}

/** Age of the oldest entry in each shard's stream, in ms by Redis's clock; `null` if the stream is empty. */
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

async function waitingOn(
  server: { redis: Redis; shards: readonly number[] },
  keyOf: (shard: number) => string,
): Promise<(number | null)[]> {
  const [heads, [seconds, micros]] = await Promise.all([headsOn(server, keyOf), server.redis.time()]);
  const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  return server.shards.map(keyOf).map((key) => {
    const head = heads.get(key);
    return head === undefined ? null : Math.max(0, nowMs - Number(head.split('-')[0]));
  });
}

/** Positions of the oldest entries by key, without empty streams. One command for all shards on a single Redis. */
async function headsOn(
  { redis, shards }: { redis: Redis; shards: readonly number[] },
  keyOf: (shard: number) => string,
): Promise<Map<string, string>> {
  const read = async (some: readonly number[]) => {
    const keys = some.map(keyOf);
    return (await redis.xreadBuffer('COUNT', 1, 'STREAMS', ...keys, ...keys.map(() => OUTBOX_START))) ?? [];
  };
  const streams = await Promise.all(byCommand(redis, shards).map(read));
  return new Map(streams.flat().map(([key, [head]]) => [key.toString(), head![0].toString()]));
}

/** Delay of Postgres in ms: the age of the oldest entry of some shards (by default, of all in use); 0 if there is none. */
export async function persistLagMs(redis: Redis, shards = shardsInUse(redis)): Promise<number> {
  if (shards.length === 0) return 0;
  return Math.max(0, ...(await waitingMs(redis, shards)).map((ms) => ms ?? 0));
}

/** Negative, 0 or positive if position `a` is before, at or after `b`. */
export function comparePositions(a: string, b: string): number {
  const [aMs = '', aSequence = ''] = a.split('-');
  const [bMs = '', bSequence = ''] = b.split('-');
  return Number(aMs) - Number(bMs) || Number(BigInt(aSequence) - BigInt(bSequence));
}

const packr = new Packr({ useRecords: false });

/** Packs an entry's fields into one byte string, even if they are malformed. */
export const packFields = (fields: readonly Buffer[]): Buffer => packr.pack(fields);

export const unpackFields = (packed: Buffer): Buffer[] => unpack(packed) as Buffer[];

export interface ReadRecord {
  value: unknown;
  bytes: Buffer;
}

/** The readable parts of an entry that may be damaged. */
export interface ReadEntry {
  /** `null` if missing or invalid. */
  tenantNo: number | null;
  records: ReadRecord[];
  /** In order. A state without bytes means that the entry ends early. */
  states: { userId: string; packed: Buffer }[];
  hasRest: boolean;
}

/** Reads what it can, by the names of the fields. Never throws. */
export function readEntry(fields: RawEntry[1]): ReadEntry {
  const entry: ReadEntry = { tenantNo: null, records: [], states: [], hasRest: fields.length % 2 !== 0 };
  let userId: string | null = null;
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at]!.toString('latin1');
    const value = fields[at + 1]!;
    if (name === OUTBOX.tenant) entry.tenantNo = tenantNoOf(value);
    else if (name === OUTBOX.records) entry.hasRest = !readRecords(value, entry.records) || entry.hasRest;
    else if (name === OUTBOX.user) userId = value.toString('utf8');
    else if (name === OUTBOX.state && userId !== null) {
      entry.states.push({ userId, packed: value });
      userId = null;
    } else entry.hasRest = true;
  }
  if (userId !== null) entry.states.push({ userId, packed: Buffer.alloc(0) });
  return entry;
}

/** Tenant numbers are 32-bit integers. */
const MOST_TENANTS = 2 ** 31 - 1;

function tenantNoOf(value: Buffer): number | null {
  const text = value.toString('latin1');
  const number = Number(text);
  return /^\d+$/.test(text) && number <= MOST_TENANTS ? number : null;
}

function readRecords(packed: Buffer, records: ReadRecord[]): boolean {
  try {
    unpackEach(packed, (value, bytes) => void records.push({ value, bytes }));
    return true;
  } catch {
    return false;
  }
}

/*
Set-aside entries that Postgres refuses even as bytes. Each has a row in Postgres (`dead_letters.in_redis`). An entry
without a row, left by a crash before the COMMIT, has no meaning.
 */

/** Stores an entry's fields (`packFields`) under its position. Idempotent. */
export async function keepEntry(redis: Redis, shard: number, position: string, fields: Buffer): Promise<void> {
  await redis.hset(keptEntriesKey(shard), position, fields);
}

interface AsidePlace {
  shard: number;
  position: string;
  /** `null` if Redis keeps it. */
  entry: Buffer | null;
  inRedis: boolean;
}

/** The packed fields of an entry that was set aside; `null` if they are lost. */
export const bytesAside = async (
  redis: Redis,
  { shard, position, entry, inRedis }: AsidePlace,
): Promise<Buffer | null> => (inRedis ? redis.hgetBuffer(keptEntriesKey(shard), position) : entry);

export async function forgetEntry(redis: Redis, shard: number, position: string): Promise<void> {
  await redis.hdel(keptEntriesKey(shard), position);
}

/*
A sweep writes as much to the outbox in a minute as events do in an hour. Nobody waits for Postgres to store it, and storing it
immediately would take CPU from events. So persisters wait until the sweep ends, unless a caller waits for them. Both keys are
hints that expire; a lost one only costs time.
 */

/** A sweep that does not renew its key within this time has ended or died. */
const SWEEP_MS = 3_000;
/** After one caller waited, others probably will. */
const AWAITED_MS = 10_000;

/** Records that a sweep is in progress on a shard. */
export async function noteSweep(redis: Redis, shard: number): Promise<void> {
  await redis.set(sweepKey(shard), '1', 'PX', SWEEP_MS);
}

export async function noteSweepEnd(redis: Redis, shard: number): Promise<void> {
  await redis.del(sweepKey(shard));
}

/** Records that a caller waits for Postgres to store the shard's outbox. */
export async function noteAwaited(redis: Redis, shard: number): Promise<void> {
  await redis.set(awaitedKey(shard), '1', 'PX', AWAITED_MS);
}

/** Whether a caller has begun to wait within the last milliseconds. */
export async function isAwaited(redis: Redis, shard: number, withinMs: number): Promise<boolean> {
  return (await redis.pttl(awaitedKey(shard))) > AWAITED_MS - withinMs;
}

export async function isStoredLater(redis: Redis, shard: number): Promise<boolean> {
  const [sweep, awaited] = await redis.mget(sweepKey(shard), awaitedKey(shard));
  return sweep !== null && awaited === null;
}
