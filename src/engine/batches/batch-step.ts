import { CALL_WORK } from '../../catalog/event-work.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { BatchMetricEvent } from '../../domain/event.ts';
import { AppError } from '../../errors.ts';
import { progressText, type QueuedBatch } from '../../redis/batches.ts';
import { batchesKey, batchProgressKey, batchResultsKey, listenedKey, shardOf } from '../../redis/keys.ts';
import { eventCall, type ReadyEvent } from '../events/event-call.ts';
import type { KeyedIds } from '../ids/keyed-ids.ts';
import { prepareEvent } from '../events/prepare-event.ts';
import { unsentEvent, type UnsentEvent } from '../../packed/packed-arrays.ts';

/** Some events of a batch, one after another, that are applied by one call of the script. */
export interface BatchStep {
  batch: QueuedBatch;
  /** Index of the first event after it. */
  to: number;
  /** The events for the script and their indexes in the batch. */
  ready: ReadyEvent[];
  at: number[];
  /** The one event says when it happened, epoch ms: it has a step of its own. Null: they happen when they were accepted. */
  occurredMs: number | null;
  /** Those that the catalog of now does not allow. */
  refused: UnsentEvent[];
}

/** Prepares up to `count` events of a batch from an index on, or one that says when it happened. `catalog`: or why there is none. Never throws for an event. */
export function batchStep(
  batch: QueuedBatch,
  { from, count, catalog, ids }: { from: number; count: number; catalog: CompiledCatalog | AppError; ids: KeyedIds },
): BatchStep {
  const { to, occurredMs } = extentOf(batch, { from, count });
  const step: BatchStep = { batch, to, ready: [], at: [], occurredMs, refused: [] };
  let work = 0;
  for (let index = from; index < step.to; index += 1) {
    try {
      if (catalog instanceof AppError) throw catalog;
      const event = batch.events[index]!;
      const { key, ...sent } = withKnownAttributes(event, catalog);
      const idempotencyKey = event.idempotencyKey ?? null;
      const nowMs = batch.acceptedMs;
      step.ready.push(prepareEvent(catalog, key, { event: sent, idempotencyKey, byClient: false, nowMs, ids }));
      step.at.push(index);
      work += step.ready.at(-1)!.plan.work;
      if (work >= CALL_WORK) step.to = index + 1;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      step.refused.push(unsentEvent({ index, code: error.code, message: error.message }));
    }
  }
  return step;
}

/** Where a step from an index on ends. */
function extentOf(
  { events }: QueuedBatch,
  { from, count }: { from: number; count: number },
): { to: number; occurredMs: number | null } {
  const first = events[from]?.occurredAt;
  if (first !== undefined) return { to: from + 1, occurredMs: Date.parse(first) };
  let to = from;
  while (to < Math.min(from + count, events.length) && events[to]!.occurredAt === undefined) to += 1;
  return { to, occurredMs: null };
}

/** An event without the attributes that were deleted after it was accepted. */
function withKnownAttributes(event: BatchMetricEvent, catalog: CompiledCatalog): BatchMetricEvent {
  const { user, attributes } = event;
  const kept = { ...event };
  if (attributes !== undefined) kept.attributes = known(attributes, catalog.eventAttributes);
  if (user.attributes !== undefined)
    kept.user = { ...user, attributes: known(user.attributes, catalog.userAttributes) };
  return kept;
}

function known(attributes: Record<string, string>, keys: ReadonlyMap<string, unknown>): Record<string, string> {
  const entries = Object.entries(attributes);
  if (entries.every(([key]) => keys.has(key))) return attributes;
  return Object.fromEntries(entries.filter(([key]) => keys.has(key)));
}

/** KEYS and ARGV of `lua/record_events.lua` for a step, to be applied only if the shard's progress is `progress`. */
export function batchStepCall(
  { batch, to, ready, at, refused }: BatchStep,
  { progress, idempotencyKeysPerDay }: { progress: string; idempotencyKeysPerDay: number },
): { keys: string[]; args: (string | number)[] } {
  const { keys, args } = eventCall(batch.tenantNo, ready, {
    nowMs: batch.acceptedMs,
    retryPosition: '',
    idempotencyKeysPerDay,
  });
  const shard = shardOf(batch.tenantNo);
  keys.push(batchProgressKey(shard), batchesKey(shard), batchResultsKey(shard, batch.id), listenedKey(shard));
  args.push(
    progress,
    progressText(batch.id, to),
    to === batch.events.length ? batch.id : '',
    batch.awaited ? JSON.stringify({ at, refused }) : '',
  );
  return { keys, args };
}
