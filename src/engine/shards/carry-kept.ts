import type { Redis } from 'ioredis';
import { BATCH_RESULT, QUEUED_BATCH } from '../../packed/call-fields.ts';
import { laterProgress, readBatchProgress } from '../../redis/batches.ts';
import { batchesKey, batchProgressKey, batchResultsKey, keptEntriesKey } from '../../redis/keys.ts';
import { comparePositions, lastPosition, OUTBOX_START, type RawEntry } from '../../redis/outbox.ts';
import { readEntry, unpackFields } from '../../redis/outbox-entry.ts';
import type { Loader } from '../rebuild/loader.ts';

/** A shard that gets what only Redis holds, and what writes to it. */
export interface KeptDestination {
  shard: number;
  loader: Loader;
}

export interface CarryOptions {
  /** A connection to the server that holds the shard, and the shard: no process may write to it any more. */
  from: { redis: Redis; shard: number };
  to: {
    /** All that may get something. They hold no batches, no progress and no kept entries. */
    all: readonly KeptDestination[];
    /** The one for what is of a tenant; null: an entry that does not say whose it is. */
    of: (tenantNo: number | null) => KeptDestination;
  };
  /** How far the shard's batches are processed by what Postgres says; '' where it does not say. */
  batchProgress: string;
}

/** How much was carried. */
export interface Carried {
  batches: number;
  entries: number;
}

/** Batches read at once: each has up to 1 MB. */
const BATCHES = 4;
const ENTRIES = 100;

/**
 * Copies what only Redis holds of a shard to others, on the same server or on others: batches that wait, with what became of
 * their first events where a caller waits for that; how far they are processed; entries that were set aside and that
 * Postgres does not take. Positions and IDs stay the same. Resolves when the destinations have all of it; the shard keeps it.
 * To be called when the shard's outbox is stored. Errors are those of Redis and of `Loader`.
 */
export async function carryKept({ from, to, batchProgress }: CarryOptions): Promise<Carried> {
  const progress = laterProgress(await readBatchProgress(from.redis, from.shard), batchProgress);
  const carried = { batches: await carryBatches(from, to, progress), entries: await carryEntries(from, to) };
  if (progress !== '') {
    for (const { shard, loader } of to.all) await loader.add(['SET', batchProgressKey(shard), progress]);
  }
  for (const { loader } of to.all) await loader.flush();
  return carried;
}

/** Batches that are not processed, oldest first, and of each destination the ID after which new ones are numbered. */
async function carryBatches(from: CarryOptions['from'], to: CarryOptions['to'], progress: string): Promise<number> {
  const [processed = ''] = progress.split(':');
  const last = await lastPosition(from.redis, from.shard, batchesKey);
  const newest = processed !== '' && comparePositions(processed, last) > 0 ? processed : last;
  const lastOf = new Map<KeptDestination, string>();
  let batches = 0;
  for (let after = processed || '-'; ;) {
    const entries = await from.redis.xrangeBuffer(batchesKey(from.shard), after, '+', 'COUNT', BATCHES);
    for (const [id, fields] of entries as RawEntry[]) {
      const tenantNo = Number(fields[1]!.toString('latin1'));
      const destination = to.of(tenantNo);
      const batchId = id.toString('latin1');
      await destination.loader.add(['XADD', batchesKey(destination.shard), batchId, ...fields]);
      if (isAwaited(fields)) await carryResults(from, destination, batchId);
      lastOf.set(destination, batchId);
      batches += 1;
      after = `(${batchId}`;
    }
    if (entries.length === 0) break;
    for (const { loader } of to.all) await loader.flush();
  }
  if (newest === OUTBOX_START) return batches;
  // A server whose clock is behind must not number a new batch before those that were processed.
  for (const destination of to.all) {
    if (lastOf.get(destination) === newest) continue;
    const key = batchesKey(destination.shard);
    await destination.loader.add(['XADD', key, newest, QUEUED_BATCH.tenant, '0']);
    await destination.loader.add(['XDEL', key, newest]);
  }
  return batches;
}

const isAwaited = (fields: readonly Buffer[]): boolean =>
  fields.some(
    (name, at) =>
      at % 2 === 0 && name.toString('latin1') === QUEUED_BATCH.awaited && fields[at + 1]?.toString('latin1') === '1',
  );

/** What became of the first events of a batch. */
async function carryResults(
  { redis, shard }: CarryOptions['from'],
  { shard: destined, loader }: KeptDestination,
  batchId: string,
): Promise<void> {
  const key = batchResultsKey(shard, batchId);
  const [results, leftMs] = await Promise.all([redis.hgetallBuffer(key), redis.pttl(key)]);
  if (results[BATCH_RESULT.answered] === undefined || leftMs <= 0) return;
  const pairs = Object.entries(results).flat() as (string | Buffer)[];
  await loader.addPairs(['HSET', batchResultsKey(destined, batchId)], pairs);
  await loader.add(['PEXPIRE', batchResultsKey(destined, batchId), String(leftMs)]);
}

/** Entries that were set aside and that Postgres does not take as bytes. */
async function carryEntries({ redis, shard }: CarryOptions['from'], to: CarryOptions['to']): Promise<number> {
  // A look may answer one twice.
  const carried = new Set<string>();
  let cursor = '0';
  do {
    const [next, found] = await redis.hscanBuffer(keptEntriesKey(shard), cursor, 'COUNT', ENTRIES);
    for (let at = 0; at + 1 < found.length; at += 2) {
      const position = found[at]!.toString('latin1');
      const packed = found[at + 1]!;
      const destination = to.of(readEntry(unpackFields(packed)).tenantNo);
      await destination.loader.add(['HSET', keptEntriesKey(destination.shard), position, packed]);
      carried.add(position);
    }
    for (const { loader } of to.all) await loader.flush();
    cursor = next.toString('latin1');
  } while (cursor !== '0');
  return carried.size;
}
