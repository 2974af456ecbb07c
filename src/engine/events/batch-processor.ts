import { setTimeout as sleep } from 'node:timers/promises';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { CALL_WORK } from '../../catalog/event-work.ts';
import type { BatchMetricEvent } from '../../domain/event.ts';
import { AppError } from '../../errors.ts';
import { STEP, UNSENT_EVENT } from '../../packed/call-fields.ts';
import { unsentEvent, type UnsentEvent } from '../../packed/packed-arrays.ts';
import { kindField } from '../../packed/record-fields.ts';
import type { ScriptReply, UnsentReply } from '../../packed/record.ts';
import { MERGED_INTO, REFUSAL, UNSENT } from '../../packed/refusal-fields.ts';
import { eventsProcessed, firstBatch, progressText, type QueuedBatch } from '../../redis/batches.ts';
import { batchesKey, batchProgressKey, batchResultsKey, listenedKey } from '../../redis/keys.ts';
import { knownPart, partOnShard } from '../../redis/parts.ts';
import { around, scriptSpan } from '../../telemetry/spans.ts';
import type { Traces } from '../../telemetry/traces.ts';
import { withAllowed } from '../corrections/late-replay.ts';
import type { KeyedIds } from '../ids.ts';
import { callsOnce } from '../changes/calls.ts';
import { COMMIT_SCRIPT } from '../changes/change-users.ts';
import { createReachedClock, recordEvents } from '../changes/record-events.ts';
import type { ReadyEvent } from './ready-event.ts';
import { createApplyElsewhere, HELD_MS, type ApplyElsewhereOptions } from './apply-elsewhere.ts';
import { ofMergedUser, prepareEvent } from './prepared-event.ts';

/** The progress of a step: its call was sent, or was answered. */
export type BatchMoment = 'sent' | 'applied';

export interface BatchProcessorOptions extends Pick<
  ApplyElsewhereOptions,
  'redis' | 'ids' | 'lookUpKeys' | 'late' | 'onWritten' | 'idempotencyKeysPerDay'
> {
  catalogs: {
    of(tenantNo: number): CompiledCatalog | Promise<CompiledCatalog>;
    atLeast(tenantNo: number, version: number): Promise<void>;
  };
  onRefused: (batch: QueuedBatch, events: number) => void;
  /** Makes a span of each sampled call; `null` or omitted turns spans off. */
  traces?: Traces | null;
  /** Called at each moment of each step, so that tests can stop there. */
  onMoment?: (moment: BatchMoment) => void | Promise<void>;
  /** Maximum number of events with `occurredAt` in a step, so that tests can compare. */
  lateEventsAStep?: number;
}

/** 50 events in a call took 39 µs of Redis each, 200 took 38 µs; single events wait for a call to end. */
const EVENTS_A_STEP = 100;
/** Events with `occurredAt` in a step: the history of their users is read once. */
const LATE_EVENTS_A_STEP = 50;

/** How a step ended (STEP). */
type Outcome =
  | { ended: typeof STEP.done; refused: number }
  | { ended: typeof STEP.passed }
  | { ended: typeof STEP.held; replies: (ScriptReply | null)[] };

/**
 * Processes queued batches. A step applies some events and advances the shard's progress in the same atomic call, and
 * only from the expected position. A step that is repeated, or overtaken by another processor, changes nothing. So
 * several processors may work on a shard and any of them may crash; there is no lock to lose.
 */
export function createBatchProcessor(options: BatchProcessorOptions) {
  const { redis, onMoment, onWritten, onRefused, late, lookUpKeys, ids, catalogs } = options;
  const atWork = new Set<number>();
  const reached = createReachedClock();
  const elsewhere = createApplyElsewhere({ ...options, reached });

  /**
   * Processes a shard's batches, oldest first, until none is left or `ending` aborts. A later call continues after an
   * error.
   */
  async function drain(shard: number, ending?: AbortSignal): Promise<void> {
    if (atWork.has(shard)) return;
    atWork.add(shard);
    try {
      for (;;) {
        const { progress, batch } = await firstBatch(redis, shard);
        if (batch === null) return;
        if (!(await process(batch, shard, progress, ending))) return;
      }
    } finally {
      atWork.delete(shard);
    }
  }

  /** Processes the rest of a batch. Returns false if another processor continues it, or on abort. */
  async function process(
    batch: QueuedBatch,
    shard: number,
    progress: string,
    ending: AbortSignal | undefined,
  ): Promise<boolean> {
    const catalog = await catalogOf(batch);
    const { ids, lateEventsAStep = LATE_EVENTS_A_STEP } = options;
    let lateCount = lateEventsAStep;
    const stepFrom = (from: number): BatchStep => batchStep(batch, { from, lateCount, catalog, ids });
    let refused = 0;
    let before = progress;
    let step = stepFrom(eventsProcessed(progress, batch.id));
    let tries = 0;
    for (;;) {
      if (ending?.aborted) return false;
      step = await withOccurred(step, tries);
      // Prepares the next step while Redis works on this one.
      const [outcome, following] = await Promise.all([
        send(step, before),
        Promise.resolve(step.to < batch.events.length ? stepFrom(step.to) : null),
        onMoment?.('sent'),
      ]);
      if (outcome.ended === STEP.passed) return false;
      if (outcome.ended === STEP.held) {
        const { replies } = outcome;
        step = await withAnswers(step, replies);
        step = { ...step, ready: step.ready.map((event, index) => withAllowed(event, replies[index])) };
        step = await withMerged(step, replies);
        // A merge across shards takes about a second.
        if (replies.some((reply) => reply?.[kindField] === REFUSAL.held)) await sleep(HELD_MS);
        const outdated = replies.findIndex((reply) => reply?.[kindField] === REFUSAL.outdated);
        // An earlier event of the user was not applied, or the user has changed.
        if (outdated !== -1) lateCount = 1;
        if (outdated > 0) step = cutStep(step, outdated);
        if (outdated === 0) tries += 1;
        continue;
      }
      tries = 0;
      lateCount = Math.min(lateCount * 2, lateEventsAStep);
      await onMoment?.('applied');
      onWritten(shard);
      refused += outcome.refused + step.refused.length;
      if (following === null) break;
      before = progressText(batch.id, step.to);
      step = following;
    }
    if (refused > 0) onRefused(batch, refused);
    return true;
  }

  /** The step with the times of its events, for the current states of their users; a shorter one if not all can be prepared. */
  async function withOccurred(step: BatchStep, tries: number): Promise<BatchStep> {
    const { occurredMs, batch } = step;
    if (occurredMs === null || step.ready.length === 0) return step;
    const events = step.ready.map((ready, at) => ({ ready, atMs: occurredMs[at]! }));
    const prepared = await late.preparedInTurn(events, { acceptedMs: batch.acceptedMs, tries });
    return { ...cutStep(step, prepared.length), ready: prepared };
  }

  async function send(step: BatchStep, progress: string): Promise<Outcome> {
    const { redis, traces = null, idempotencyKeysPerDay = 0 } = options;
    const { batch, to, ready } = step;
    const part = partOnShard(redis, batch.tenantNo, batch.shard);
    // A step that is repeated from the progress that is found changes nothing twice.
    const calls = callsOnce(redis, { around: (run) => around(traces, scriptSpan(COMMIT_SCRIPT, ready.length), run) });
    const { ended, replies, refused } = await recordEvents(
      calls,
      part,
      ready,
      { nowMs: batch.acceptedMs, keysPerDay: idempotencyKeysPerDay, reached },
      {
        keys: {
          progress: batchProgressKey(batch.shard),
          queue: batchesKey(batch.shard),
          results: batchResultsKey(batch.shard, batch.id),
          listened: listenedKey(batch.shard),
        },
        expected: progress,
        after: progressText(batch.id, to),
        finished: to === batch.events.length ? batch.id : '',
        indexes: batch.awaited ? step.at : null,
        unsent: [
          ...step.refused.map((event) => ({ index: event[UNSENT_EVENT.index], answer: unsentReply(event) })),
          ...step.applied.map(({ index, reply }) => ({ index, answer: reply })),
        ],
      },
    );
    if (ended === 'held') return { ended: STEP.held, replies };
    return ended === 'passed' ? { ended: STEP.passed } : { ended: STEP.done, refused };
  }

  async function withAnswers(step: BatchStep, replies: readonly (ScriptReply | null)[]): Promise<BatchStep> {
    const questions = step.ready.flatMap((event, index) => {
      const reply = replies[index];
      return reply?.[kindField] === REFUSAL.unknownUse ? [{ index, event, asked: reply }] : [];
    });
    if (questions.length === 0) return step;
    const answered = await lookUpKeys(step.batch.tenantNo, questions);
    const ready = [...step.ready];
    for (const [at, { index }] of questions.entries()) ready[index] = answered[at]!;
    return { ...step, ready };
  }

  /** The step with the events of merged users as events of the others. Those of another shard are applied there at once. */
  async function withMerged(step: BatchStep, replies: readonly (ScriptReply | null)[]): Promise<BatchStep> {
    const { tenantNo, shard } = step.batch;
    if (!replies.some((reply) => reply?.[kindField] === REFUSAL.merged)) return step;
    const { occurredMs } = step;
    const next: BatchStep = { ...step, ready: [], at: [], occurredMs: occurredMs && [], applied: [...step.applied] };
    for (const [nth, event] of step.ready.entries()) {
      const reply = replies[nth];
      const index = step.at[nth]!;
      const atMs = occurredMs?.[nth] ?? null;
      const into = reply?.[kindField] === REFUSAL.merged ? reply[MERGED_INTO.userId] : null;
      if (into !== null && knownPart(redis, tenantNo, into).shard !== shard) {
        next.applied.push({ index, reply: await elsewhere(step.batch, { event, index, atMs, into }) });
        continue;
      }
      next.ready.push(into === null ? event : ofMergedUser(event, into, ids));
      next.at.push(index);
      next.occurredMs?.push(atMs!);
    }
    return next;
  }

  /** The current catalog, at least as new as the one that the batch was checked with; or the reason why the tenant has none. */
  async function catalogOf(batch: QueuedBatch): Promise<CompiledCatalog | AppError> {
    try {
      await catalogs.atLeast(batch.tenantNo, batch.catalogVersion);
      return await catalogs.of(batch.tenantNo);
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return error;
      throw error;
    }
  }

  return { drain };
}

export type BatchProcessor = ReturnType<typeof createBatchProcessor>;

interface BatchStep {
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
function batchStep(
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
function cutStep(step: BatchStep, count: number): BatchStep {
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
  const reduced = { ...event };
  if (attributes !== undefined) reduced.attributes = known(attributes, catalog.eventAttributes);
  if (user.attributes !== undefined)
    reduced.user = { ...user, attributes: known(user.attributes, catalog.userAttributes) };
  return reduced;
}

function known(attributes: Record<string, string>, keys: ReadonlyMap<string, unknown>): Record<string, string> {
  const entries = Object.entries(attributes);
  if (entries.every(([key]) => keys.has(key))) return attributes;
  return Object.fromEntries(entries.filter(([key]) => keys.has(key)));
}

/** The result of an event that was not sent. */
const unsentReply = (event: UnsentEvent): UnsentReply => ({
  [kindField]: REFUSAL.unsent,
  [UNSENT.code]: event[UNSENT_EVENT.code],
  [UNSENT.message]: event[UNSENT_EVENT.message],
});
