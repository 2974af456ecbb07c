import { setTimeout as sleep } from 'node:timers/promises';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { AppError } from '../../errors.ts';
import { STEP, UNSENT_EVENT } from '../../packed/call-fields.ts';
import { kindField } from '../../packed/record-fields.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { MERGED_INTO, REFUSAL } from '../../packed/refusal-fields.ts';
import { eventsProcessed, firstBatch, progressText, type QueuedBatch } from '../../redis/batches.ts';
import { batchesKey, batchProgressKey, batchResultsKey, listenedKey } from '../../redis/keys.ts';
import { knownPart } from '../../redis/parts.ts';
import type { LateEvents } from '../corrections/late-events.ts';
import { withAllowed } from '../corrections/late-replay.ts';
import type { KeyedIds } from '../ids.ts';
import { computeChanges } from '../changes/change-users.ts';
import { commitStep, createReachedClock } from '../changes/record-events.ts';
import { createApplyElsewhere, HELD_MS } from './apply-elsewhere.ts';
import { batchStep, type BatchStep, cutStep, unsentReply } from './batch-steps.ts';
import { createPendingSteps, isLate, type Pending, type PendingStepsOptions } from './pending-steps.ts';
import { ofMergedUser } from './prepared-event.ts';
import type { LookUpKeys } from './stored-replies.ts';

/** The progress of a step: its call was sent, or was answered. */
export type BatchMoment = 'sent' | 'applied';

export interface BatchProcessorOptions extends PendingStepsOptions {
  catalogs: {
    of(tenantNo: number): CompiledCatalog | Promise<CompiledCatalog>;
    atLeast(tenantNo: number, version: number): Promise<void>;
  };
  ids: KeyedIds;
  lookUpKeys: LookUpKeys;
  /** Applies events with a time of their own. */
  late: LateEvents;
  onWritten: (shard: number) => void;
  onRefused: (batch: QueuedBatch, events: number) => void;
  /** Called at each moment of each step, so that tests can stop there. */
  onMoment?: (moment: BatchMoment) => void | Promise<void>;
  /** Maximum number of events with `occurredAt` in a step, so that tests can compare. */
  lateEventsAStep?: number;
}

/** Events with `occurredAt` in a step: the history of their users is read once. */
const LATE_EVENTS_A_STEP = 50;

/** How a step ended (STEP). */
type Outcome =
  | { ended: typeof STEP.done; refused: number; isAsComputed: boolean }
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
  const { partOf, callsOf, pendingStep, compute, readEarly, lookAhead } = createPendingSteps(options, reached);
  const elsewhere = createApplyElsewhere({ ...options, reached });

  /**
   * Processes a shard's batches, oldest first, until none is left or `ending` aborts. A later call continues after an
   * error.
   */
  async function drain(shard: number, ending?: AbortSignal): Promise<void> {
    if (atWork.has(shard)) return;
    atWork.add(shard);
    try {
      // After a commit, Redis knows all functions, so that a read that is sent behind a commit also happens after it.
      for (let hasCommitted = false; ; hasCommitted = true) {
        const { progress, batch } = await firstBatch(redis, shard);
        if (batch === null) return;
        if (!(await process(batch, { progress, hasCommitted, ending }))) return;
      }
    } finally {
      atWork.delete(shard);
    }
  }

  /** Processes the rest of a batch. Returns false if another processor continues it, or on abort. */
  async function process(
    batch: QueuedBatch,
    on: { progress: string; hasCommitted: boolean; ending: AbortSignal | undefined },
  ): Promise<boolean> {
    const catalog = await catalogOf(batch);
    const { ids, lateEventsAStep = LATE_EVENTS_A_STEP } = options;
    let lateCount = lateEventsAStep;
    const stepFrom = (from: number): Pending => pendingStep(batchStep(batch, { from, lateCount, catalog, ids }));
    const stepAfter = ({ step: { to } }: Pending): Pending | null => (to < batch.events.length ? stepFrom(to) : null);
    let refused = 0;
    let { progress, hasCommitted } = on;
    let pending = stepFrom(eventsProcessed(progress, batch.id));
    let tries = 0;
    for (;;) {
      if (on.ending?.aborted) return false;
      if (isLate(pending)) pending = pendingStep(await withOccurred(pending.step, tries));
      else if (pending.computed === null) {
        const computing = compute(pending, null);
        if (hasCommitted) pending.next = readEarly(stepAfter(pending));
        pending.computed = await computing;
      }
      // The next step is prepared and computed while Redis works on this one.
      const [outcome, following] = await Promise.all([
        send(pending, progress),
        hasCommitted ? lookAhead(pending, stepAfter) : stepAfter(pending),
        onMoment?.('sent'),
      ]);
      if (outcome.ended === STEP.passed) return false;
      if (outcome.ended === STEP.held) {
        const { replies } = outcome;
        let step = await withAnswers(pending.step, replies);
        step = { ...step, ready: step.ready.map((event, index) => withAllowed(event, replies[index])) };
        step = await withMerged(step, replies);
        // A merge across shards takes about a second.
        if (replies.some((reply) => reply?.[kindField] === REFUSAL.held)) await sleep(HELD_MS);
        const outdated = replies.findIndex((reply) => reply?.[kindField] === REFUSAL.outdated);
        // An earlier event of the user was not applied, or the user has changed.
        if (outdated !== -1) lateCount = 1;
        if (outdated > 0) step = cutStep(step, outdated);
        if (outdated === 0) tries += 1;
        pending = pendingStep(step);
        continue;
      }
      hasCommitted = true;
      tries = 0;
      lateCount = Math.min(lateCount * 2, lateEventsAStep);
      await onMoment?.('applied');
      onWritten(batch.shard);
      refused += outcome.refused + pending.step.refused.length;
      if (following === null) break;
      progress = progressText(batch.id, pending.step.to);
      // What was read and computed in advance may have missed changes that were computed again.
      pending = outcome.isAsComputed ? following : stepFrom(pending.step.to);
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

  async function send({ step, events, computed }: Pending, progress: string): Promise<Outcome> {
    const { batch, to } = step;
    const [calls, part] = [callsOf(step), partOf(batch)];
    const changes = computed ?? (await computeChanges(calls, part, events.subjects));
    const { ended, replies, refused, isAsComputed } = await commitStep(calls, part, events, changes, {
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
    });
    if (ended === 'held') return { ended: STEP.held, replies };
    return ended === 'passed' ? { ended: STEP.passed } : { ended: STEP.done, refused, isAsComputed };
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
