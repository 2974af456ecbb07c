import type { Redis } from 'ioredis';
import type { BatchMetricEvent } from '../domain/event.ts';
import { BATCH_RESULT, QUEUED_BATCH } from '../packed/call-fields.ts';
import { batchesKey, batchProgressKey, batchResultsKey, shardOf } from './keys.ts';
import { comparePositions, OUTBOX_START, waitingMs } from './outbox.ts';
import { connectionOf } from './endpoints.ts';
import { Script } from './script.ts';
import { shardsInUse } from './shards-in-use.ts';
import type { ScriptReply, UnsentReply } from '../packed/record.ts';
import { unpackAll } from '../packed/state.ts';

/** A batch as it was accepted. */
export interface AcceptedBatch {
  tenantNo: number;
  /** The time of its events, epoch ms. */
  acceptedMs: number;
  /** Version of the catalog that its events were checked with. */
  catalogVersion: number;
  /** Whether a caller waits for what becomes of each event. */
  awaited: boolean;
  events: BatchMetricEvent[];
}

export interface QueuedBatch extends AcceptedBatch {
  /** Its position in the shard's stream. */
  id: string;
}

/** What became of one event: the script's answer, or why it was not sent to the script. */
export type BatchReply = ScriptReply | UnsentReply;

const add = new Script('add_batch');

/**
 * Puts a batch at the end of its shard's queue, in one write. Its ID; null and nothing done if `limit` are there. Errors as
 * `Script.runUnacknowledged`: no batch is put where the shard is not what it is believed to be.
 */
export async function addBatch(redis: Redis, batch: AcceptedBatch, limit: number): Promise<string | null> {
  const fields = [
    QUEUED_BATCH.tenant,
    batch.tenantNo,
    QUEUED_BATCH.acceptedMs,
    batch.acceptedMs,
    QUEUED_BATCH.catalogVersion,
    batch.catalogVersion,
    QUEUED_BATCH.awaited,
    batch.awaited ? 1 : 0,
    QUEUED_BATCH.events,
    JSON.stringify(batch.events),
  ];
  const keys = [batchesKey(shardOf(batch.tenantNo))];
  const id = (await add.runUnacknowledged(redis, keys, [limit, ...fields])) as Buffer | null;
  return id === null ? null : id.toString('latin1');
}

/** The oldest batch of a shard, null without one, and the shard's progress, both of one moment. */
export async function firstBatch(
  redis: Redis,
  shard: number,
): Promise<{ progress: string; batch: QueuedBatch | null }> {
  const replies = await connectionOf(redis, shard)
    .multi()
    .get(batchProgressKey(shard))
    .xrange(batchesKey(shard), '-', '+', 'COUNT', 1)
    .exec();
  const [progress, entries] = (replies ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  }) as [string | null, [string, string[]][]];
  const entry = entries[0];
  return { progress: progress ?? '', batch: entry === undefined ? null : parseBatch(entry) };
}

function parseBatch([id, fields]: [string, string[]]): QueuedBatch {
  const [, tenantNo, , acceptedMs, , catalogVersion, , awaited, , events] = fields;
  return {
    id,
    tenantNo: Number(tenantNo),
    acceptedMs: Number(acceptedMs),
    catalogVersion: Number(catalogVersion),
    awaited: awaited === '1',
    events: JSON.parse(events ?? '') as BatchMetricEvent[],
  };
}

/** Whether something is the text of a progress. */
export const isProgress = (value: unknown): value is string => typeof value === 'string' && /^\d+-\d+:\d+$/.test(value);

/** The text of a progress: so many events of a batch are processed, and all batches before it. */
export const progressText = (batchId: string, events: number): string => `${batchId}:${events}`;

/** How many events of a batch, the oldest there is, are processed. */
export function eventsProcessed(progress: string, batchId: string): number {
  const [id, events] = progress.split(':');
  return id === batchId ? Number(events) : 0;
}

/** How far a shard's batches are processed, as Redis says; '' where it does not. */
export const readBatchProgress = async (redis: Redis, shard: number): Promise<string> =>
  (await redis.get(batchProgressKey(shard))) ?? '';

/** Negative, 0 or positive as progress `a` is before, at or after `b`; '' is before all. */
export function compareProgress(a: string, b: string): number {
  const [aBatch = '', aEvents] = a.split(':');
  const [bBatch = '', bEvents] = b.split(':');
  return (
    comparePositions(aBatch || OUTBOX_START, bBatch || OUTBOX_START) || Number(aEvents ?? 0) - Number(bEvents ?? 0)
  );
}

/** Of two progresses of one shard the one that is further. */
export const laterProgress = (a: string, b: string): string => (compareProgress(a, b) < 0 ? b : a);

/** The shards that have batches waiting. */
export async function shardsWithBatches(redis: Redis, shards: readonly number[]): Promise<number[]> {
  const lengths = await Promise.all(shards.map((shard) => redis.xlen(batchesKey(shard))));
  return shards.filter((_, index) => lengths[index]! > 0);
}

/** How many batches of all shards in use wait, and for how long the oldest one has, ms. */
export async function waitingBatches(
  redis: Redis,
  shards = shardsInUse(redis),
): Promise<{ count: number; oldestMs: number }> {
  if (shards.length === 0) return { count: 0, oldestMs: 0 };
  const [counts, waits] = await Promise.all([
    Promise.all(shards.map((shard) => redis.xlen(batchesKey(shard)))),
    waitingMs(redis, shards, batchesKey),
  ]);
  return { count: counts.reduce((sum, count) => sum + count, 0), oldestMs: Math.max(0, ...waits.map((ms) => ms ?? 0)) };
}

/** What became of the events of a batch, in their order; null while some are not processed. */
export async function batchReplies(
  redis: Redis,
  { tenantNo, batchId, events }: { tenantNo: number; batchId: string; events: number },
): Promise<BatchReply[] | null> {
  const key = batchResultsKey(shardOf(tenantNo), batchId);
  if (Number(await redis.hget(key, BATCH_RESULT.answered)) < events) return null;
  const { [BATCH_RESULT.answered]: _, ...steps } = await redis.hgetallBuffer(key);
  const replies: BatchReply[] = [];
  for (const step of Object.values(steps)) {
    // A step's: the indexes of its events, and an answer to each.
    const [at, ...answers] = unpackAll(step) as [number[], ...BatchReply[]];
    for (const [n, answer] of answers.entries()) replies[at[n]!] = answer;
  }
  return replies;
}

/** Position of the youngest batch of a shard that waits; null where none does. */
export async function newestBatch(redis: Redis, shard: number): Promise<string | null> {
  const [newest] = await redis.xrevrange(batchesKey(shard), '+', '-', 'COUNT', 1);
  return newest?.[0] ?? null;
}

/** Whether a batch of the shard up to this position still waits. */
export async function batchWaits(redis: Redis, shard: number, upTo: string): Promise<boolean> {
  return (await redis.xrange(batchesKey(shard), '-', upTo, 'COUNT', 1)).length > 0;
}

/** Batches read at once. */
const BATCHES = 10;

/** The events of a user in batches that are not processed yet, in their order. */
export async function queuedEventsOf(
  redis: Redis,
  { tenantNo, userId }: { tenantNo: number; userId: string },
): Promise<BatchMetricEvent[]> {
  const shard = shardOf(tenantNo);
  const { progress } = await firstBatch(redis, shard);
  const events: BatchMetricEvent[] = [];
  for (let after = '-'; ;) {
    const entries = await redis.xrange(batchesKey(shard), after, '+', 'COUNT', BATCHES);
    for (const entry of entries) {
      const batch = parseBatch(entry);
      if (batch.tenantNo !== tenantNo) continue;
      const left = batch.events.slice(eventsProcessed(progress, batch.id));
      events.push(...left.filter(({ user }) => user.id === userId));
    }
    const last = entries.at(-1);
    if (last === undefined) return events;
    after = `(${last[0]}`;
  }
}
