import type { Redis } from 'ioredis';
import type { BatchMetricEvent } from '../domain/event.ts';
import { BATCH_RESULT, QUEUED_BATCH } from '../packed/call-fields.ts';
import { repliesOf } from './commands.ts';
import { batchesKey, batchProgressKey, batchResultsKey, type TenantPart } from './keys.ts';
import { userPart } from './parts.ts';
import { comparePositions, OUTBOX_START, shardsWithEntries, waitingMs } from './outbox.ts';
import { connectionOf, shardsInUse } from './endpoints.ts';
import { Script } from './script.ts';
import type { ScriptReply, UnsentReply } from '../packed/record.ts';
import { unpackAll } from '../packed/state.ts';

/** Events of users in one part of a tenant. */
export interface AcceptedBatch extends TenantPart {
  /** Time of its events, epoch ms. */
  acceptedMs: number;
  /** Version of the catalog that validated its events. */
  catalogVersion: number;
  awaited: boolean;
  events: BatchMetricEvent[];
}

export interface QueuedBatch extends AcceptedBatch {
  id: string;
}

/** Result of one event: the script's answer, or the reason why it was not sent to the script. */
export type BatchReply = ScriptReply | UnsentReply;

const add = new Script('add_batch');

/** Queues a batch in one write. Returns its ID; `null` if `limit` wait. Errors as `Script.runUnacknowledged`. */
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
  const keys = [batchesKey(batch.shard)];
  const id = (await add.runUnacknowledged(redis, keys, [limit, ...fields])) as Buffer | null;
  return id === null ? null : id.toString('latin1');
}

/** The oldest batch of a shard (or `null`) and the shard's progress, read atomically. */
export async function firstBatch(
  redis: Redis,
  shard: number,
): Promise<{ progress: string; batch: QueuedBatch | null }> {
  const commands = connectionOf(redis, shard)
    .multi()
    .get(batchProgressKey(shard))
    .xrange(batchesKey(shard), '-', '+', 'COUNT', 1);
  const [progress, entries] = await repliesOf<[string | null, [string, string[]][]]>(commands);
  const entry = entries[0];
  return { progress: progress ?? '', batch: entry === undefined ? null : parseBatch(shard, entry) };
}

function parseBatch(shard: number, [id, fields]: [string, string[]]): QueuedBatch {
  const [, tenantNo, , acceptedMs, , catalogVersion, , awaited, , events] = fields;
  return {
    id,
    shard,
    tenantNo: Number(tenantNo),
    acceptedMs: Number(acceptedMs),
    catalogVersion: Number(catalogVersion),
    awaited: awaited === '1',
    events: JSON.parse(events ?? '') as BatchMetricEvent[],
  };
}

export const isProgress = (value: unknown): value is string => typeof value === 'string' && /^\d+-\d+:\d+$/.test(value);

/** Progress text: `events` events of this batch are processed, and all batches before it. */
export const progressText = (batchId: string, events: number): string => `${batchId}:${events}`;

/** How many events of the shard's oldest batch are processed. */
export function eventsProcessed(progress: string, batchId: string): number {
  const [id, events] = progress.split(':');
  return id === batchId ? Number(events) : 0;
}

/** Progress of a shard's batches in Redis; `''` if unknown. */
export const readBatchProgress = async (redis: Redis, shard: number): Promise<string> =>
  (await redis.get(batchProgressKey(shard))) ?? '';

/** Negative, 0 or positive if progress `a` is before, at or after `b`; `''` sorts first. */
export function compareProgress(a: string, b: string): number {
  const [aBatch = '', aEvents] = a.split(':');
  const [bBatch = '', bEvents] = b.split(':');
  return (
    comparePositions(aBatch || OUTBOX_START, bBatch || OUTBOX_START) || Number(aEvents ?? 0) - Number(bEvents ?? 0)
  );
}

export const shardsWithBatches = (redis: Redis, shards: readonly number[]): Promise<number[]> =>
  shardsWithEntries(redis, shards, batchesKey);

/** Number of waiting batches over all shards in use, and the age of the oldest in ms. */
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

/** Results of a batch's events, in order; `null` until all are processed. */
export async function batchReplies(
  redis: Redis,
  { shard, batchId, events }: { shard: number; batchId: string; events: number },
): Promise<BatchReply[] | null> {
  const key = batchResultsKey(shard, batchId);
  if (Number(await redis.hget(key, BATCH_RESULT.answered)) < events) return null;
  const { [BATCH_RESULT.answered]: _, ...steps } = await redis.hgetallBuffer(key);
  const replies: BatchReply[] = [];
  for (const step of Object.values(steps)) {
    // One step: the indexes of its events, then one answer per event.
    const [at, ...answers] = unpackAll(step) as [number[], ...BatchReply[]];
    for (const [n, answer] of answers.entries()) replies[at[n]!] = answer;
  }
  return replies;
}

/** Position of a shard's newest waiting batch, or `null`. */
export async function newestBatch(redis: Redis, shard: number): Promise<string | null> {
  const [newest] = await redis.xrevrange(batchesKey(shard), '+', '-', 'COUNT', 1);
  return newest?.[0] ?? null;
}

/** Number of a tenant's waiting batches in a shard. */
export async function batchesOfTenant(redis: Redis, shard: number, tenantNo: number): Promise<number> {
  const waiting = await redis.xrange(batchesKey(shard), '-', '+');
  return waiting.filter((entry) => parseBatch(shard, entry).tenantNo === tenantNo).length;
}

/** Whether a batch at or before this position is still waiting. */
export async function batchWaits(redis: Redis, shard: number, upTo: string): Promise<boolean> {
  return (await redis.xrange(batchesKey(shard), '-', upTo, 'COUNT', 1)).length > 0;
}

/** Batches per read. */
const BATCHES = 10;

/** A user's events in batches that are not processed yet, in order. */
export async function queuedEventsOf(redis: Redis, tenantNo: number, userId: string): Promise<BatchMetricEvent[]> {
  const { shard } = userPart(redis, tenantNo, userId);
  const { progress } = await firstBatch(redis, shard);
  const events: BatchMetricEvent[] = [];
  for (let after = '-'; ;) {
    const entries = await redis.xrange(batchesKey(shard), after, '+', 'COUNT', BATCHES);
    for (const entry of entries) {
      const batch = parseBatch(shard, entry);
      if (batch.tenantNo !== tenantNo) continue;
      const unprocessed = batch.events.slice(eventsProcessed(progress, batch.id));
      events.push(...unprocessed.filter(({ user }) => user.id === userId));
    }
    const last = entries.at(-1);
    if (last === undefined) return events;
    after = `(${last[0]}`;
  }
}
