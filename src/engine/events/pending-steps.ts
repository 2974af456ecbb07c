/**
 * Steps of a batch in the course of being read and computed. While Redis commits a step, the next one is computed from users who were
 * read before, and from the states that the step in flight leaves if it is committed as it was computed.
 */
import type { Redis } from 'ioredis';
import type { QueuedBatch } from '../../redis/batches.ts';
import type { TenantPart } from '../../redis/keys.ts';
import { partOnShard } from '../../redis/parts.ts';
import { around, scriptSpan } from '../../telemetry/spans.ts';
import type { Traces } from '../../telemetry/traces.ts';
import { callsOnce } from '../changes/calls.ts';
import {
  type Calls,
  COMMIT_SCRIPT,
  computeChanges,
  type ComputedChanges,
  readUsers,
  type ReadUser,
} from '../changes/change-users.ts';
import type { EventsChange } from '../changes/event-change.ts';
import { eventsByUser, type EventsByUser, type ReachedClock } from '../changes/record-events.ts';
import type { BatchStep } from './batch-steps.ts';

/** A step on its way. */
export interface Pending {
  step: BatchStep;
  events: EventsByUser;
  /** Its users, if they were read in advance. */
  early: Promise<ReadUser[]> | null;
  /** Its changes, if they were computed in advance. */
  computed: ComputedChanges<EventsChange> | null;
  /** The step after it, if it was prepared. */
  next: Pending | null;
}

export interface PendingStepsOptions {
  redis: Redis;
  /** Makes a span of each sampled call; `null` or omitted turns spans off. */
  traces?: Traces | null;
  /** As in `EventBatcherOptions`. */
  idempotencyKeysPerDay?: number;
}

/** `reached`: when events happen. */
export function createPendingSteps(
  { redis, traces = null, idempotencyKeysPerDay: keysPerDay = 0 }: PendingStepsOptions,
  reached: ReachedClock,
) {
  const partOf = ({ tenantNo, shard }: QueuedBatch): TenantPart => partOnShard(redis, tenantNo, shard);

  /** A step that is repeated from the progress that is found changes nothing twice. */
  function callsOf({ ready }: BatchStep): Calls {
    return callsOnce(redis, { around: (run) => around(traces, scriptSpan(COMMIT_SCRIPT, ready.length), run) });
  }

  function pendingStep(step: BatchStep): Pending {
    // Batches of a shard are processed one after another, and wait for nobody.
    const call = { nowMs: step.batch.acceptedMs, keysPerDay, reached };
    const events = eventsByUser(partOf(step.batch), step.ready, call, false);
    return { step, events, early: null, computed: null, next: null };
  }

  /** Computes a step, while another may be in flight: its users have the states that it leaves, if it is committed as it was computed. */
  async function compute(
    { step, events: { subjects }, early }: Pending,
    inFlight: Pending['computed'],
  ): Promise<ComputedChanges<EventsChange>> {
    const states = statesAfter(inFlight);
    const read = early === null ? [] : await early;
    const recent = {
      recall: (_: TenantPart, userId: string) => states.get(userId) ?? null,
      compare: () => undefined,
      note: () => undefined,
    };
    return computeChanges({ ...callsOf(step), recent }, partOf(step.batch), subjects, {
      early: read.map((user, at) => (states.has(subjects[at]!.userId) ? null : user)),
    });
  }

  /** Reads the users of a step before the step before it is committed. Those who are in both steps will be recalled or read again. */
  function readEarly(pending: Pending | null): Pending | null {
    if (pending === null || isLate(pending)) return pending;
    const { step, events } = pending;
    pending.early = readUsers(callsOf(step), partOf(step.batch), events.subjects);
    // It is awaited when the step is computed, if at all.
    pending.early.catch(() => undefined);
    return pending;
  }

  /** The step after one whose commit was just sent, computed while Redis works on that. */
  async function lookAhead(pending: Pending, stepAfter: (pending: Pending) => Pending | null): Promise<Pending | null> {
    const following = pending.next ?? stepAfter(pending);
    if (following === null || pending.computed === null || isLate(following)) return following;
    following.next = readEarly(stepAfter(following));
    following.computed = await compute(following, pending.computed);
    return following;
  }

  return { partOf, callsOf, pendingStep, compute, readEarly, lookAhead };
}

/** Whether the events of a step have times of their own, which depend on the states of their users. */
export const isLate = ({ step }: Pending): boolean => step.occurredMs !== null;

/** The users whom changes affect, with their states if these change. */
function statesAfter(changes: ComputedChanges<EventsChange> | null): Map<string, Buffer | null> {
  const states = new Map<string, Buffer | null>();
  for (const [at, { change }] of changes?.changed.entries() ?? []) {
    const state = change.block?.state;
    if (change.block !== null) states.set(changes!.subjects[at]!.userId, Buffer.isBuffer(state) ? state : null);
  }
  return states;
}
