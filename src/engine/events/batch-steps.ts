/** The steps into which a batch of events is divided: their events, prepared for the rules. */
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { CALL_WORK } from '../../catalog/event-work.ts';
import type { BatchMetricEvent } from '../../domain/event.ts';
import { AppError } from '../../errors.ts';
import { UNSENT_EVENT } from '../../packed/call-fields.ts';
import { unsentEvent, type UnsentEvent } from '../../packed/packed-arrays.ts';
import { kindField } from '../../packed/record-fields.ts';
import type { ScriptReply, UnsentReply } from '../../packed/record.ts';
import { REFUSAL, UNSENT } from '../../packed/refusal-fields.ts';
import type { QueuedBatch } from '../../redis/batches.ts';
import type { KeyedIds } from '../ids.ts';
import { prepareEvent } from './prepared-event.ts';
import type { ReadyEvent } from './ready-event.ts';

/** 50 events in a call took 39 µs of Redis each, 200 took 38 µs; single events wait for a call to end. */
const EVENTS_A_STEP = 100;

export interface BatchStep {
  batch: QueuedBatch;
  /** Index of the first event after the step. */
  to: number;
  /** The events to apply, and their indexes in the batch. */
  ready: ReadyEvent[];
  at: number[];
  /** Times of the events, all of which have an `occurredAt`; `null`: when the batch was accepted. */
  occurredMs: number[] | null;
  /** The events that the current catalog does not allow. */
  refused: UnsentEvent[];
  /** The events that were applied on other shards, with their answers. */
  applied: { index: number; reply: ScriptReply }[];
}

/** Where a step starts, and how many events with `occurredAt` it may have. */
interface StepSize {
  from: number;
  lateCount: number;
}

/** Prepares the events of a step from an index on: all with `occurredAt`, or all without. Never throws for an event. */
export function batchStep(
  batch: QueuedBatch,
  { catalog, ids, ...size }: StepSize & { catalog: CompiledCatalog | AppError; ids: KeyedIds },
): BatchStep {
  const { to, isOccurred } = extentOf(batch, size);
  const step: BatchStep = {
    batch,
    to,
    ready: [],
    at: [],
    occurredMs: isOccurred ? [] : null,
    refused: [],
    applied: [],
  };
  let work = 0;
  for (let index = size.from; index < step.to; index += 1) {
    try {
      if (catalog instanceof AppError) throw catalog;
      const event = batch.events[index]!;
      const { key, ...sent } = withKnownAttributes(event, catalog);
      const idempotencyKey = event.idempotencyKey ?? null;
      const nowMs = batch.acceptedMs;
      step.ready.push(prepareEvent(catalog, key, { event: sent, idempotencyKey, byClient: false, nowMs, ids }));
      step.at.push(index);
      step.occurredMs?.push(Date.parse(event.occurredAt!));
      work += step.ready.at(-1)!.plan.work;
      if (work >= CALL_WORK) step.to = index + 1;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      step.refused.push(unsentEvent(index, error.code, error.message));
    }
  }
  return step;
}

/** The end of the step that starts at an index. */
function extentOf({ events }: QueuedBatch, { from, lateCount }: StepSize): { to: number; isOccurred: boolean } {
  const isOccurred = events[from]?.occurredAt !== undefined;
  const end = Math.min(from + (isOccurred ? lateCount : EVENTS_A_STEP), events.length);
  let to = from;
  while (to < end && (events[to]!.occurredAt !== undefined) === isOccurred) to += 1;
  return { to, isOccurred };
}

/** The first `count` of a step's prepared events, and what was refused before the next one. */
export function cutStep(step: BatchStep, count: number): BatchStep {
  const to = step.at[count];
  if (to === undefined) return step;
  return {
    ...step,
    to,
    ready: step.ready.slice(0, count),
    at: step.at.slice(0, count),
    occurredMs: step.occurredMs?.slice(0, count) ?? null,
    refused: step.refused.filter((event) => event[UNSENT_EVENT.index] < to),
    applied: step.applied.filter(({ index }) => index < to),
  };
}

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

/** The result of an event that was not sent. */
export const unsentReply = (event: UnsentEvent): UnsentReply => ({
  [kindField]: REFUSAL.unsent,
  [UNSENT.code]: event[UNSENT_EVENT.code],
  [UNSENT.message]: event[UNSENT_EVENT.message],
});
