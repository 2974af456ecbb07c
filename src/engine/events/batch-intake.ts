import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { decimalNumber } from '../../domain/decimal.ts';
import { UNKNOWN_METRIC, type BatchEventResult, type BatchMetricEvent } from '../../domain/event.ts';
import type { GuardedEvent } from '../../domain/administration/guards.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { uuidText } from '../../domain/schemas.ts';
import { AppError, ERRORS } from '../../errors.ts';
import { GUARDED } from '../../packed/guard-fields.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import { REFUSAL, REPLAY, UNSENT } from '../../packed/refusal-fields.ts';
import { decimalOf, type PackedTotal } from '../../packed/state.ts';
import { type AcceptedBatch, addBatch, batchReplies, type BatchReply } from '../../redis/batches.ts';
import { acknowledged, refuseUnacknowledged } from '../../redis/gate.ts';
import { isOtherBody, timeOfUse } from '../../redis/idempotency.ts';
import { batchesKey, type TenantPart } from '../../redis/keys.ts';
import { byPart } from '../../redis/parts.ts';
import { Slices } from '../../pacing/slices.ts';
import type { KeyedIds } from '../ids.ts';
import { Overload, refusalError, SUBSCRIBED_WITHOUT_ADDRESS } from '../refusals.ts';
import { rejectUnknownAttributes, sentUser } from '../users/sent-user.ts';
import { guardedResult, guardError, guardName, isQuarantined, quarantinedBy } from './event-answer.ts';
import { bodyOf, type EventWindow, metadataText, occurredMs } from './prepared-event.ts';
import { inOwnTurn } from '../../pacing/turns.ts';

interface BatchIntakeOptions {
  redis: Redis;
  catalogs: { of(tenantNo: number): CompiledCatalog | Promise<CompiledCatalog> };
  clock: Clock;
  ids: KeyedIds;
  /** Returns those of the users who have an e-mail address on record. */
  withAddress: (tenantNo: number, userIds: string[]) => Promise<ReadonlySet<string>>;
  onAccepted: (shard: number) => void;
  /** Whether the outbox is full, so that events are refused. */
  overloaded: () => boolean;
}

/** Maximum number of waiting batches in a shard: 64,000 events, a few seconds of work, at most 64 MiB. */
const MAX_WAITING = 64;
/** Shorter than the usual timeouts of clients and proxies. */
const WAIT_MS = 25_000;
const LOOK_MS = 20;

/** The events of a batch that one part of the tenant holds. `at`: their indexes in the batch. */
interface QueuedPart {
  part: TenantPart;
  batchId: string;
  at: number[];
}

/** Accepts batches of events: checks them, queues them durably, and returns the results to a caller that waits. */
export function createBatchIntake(options: BatchIntakeOptions) {
  const { withAddress, catalogs, clock, ids, overloaded, redis, onAccepted } = options;
  /**
   * Queues all of a tenant's events or none. When this resolves, they are in Redis; each will be processed once, in
   * order, with the current time. Errors name the index: 404 for an unknown metric; 422 for an unknown attribute or
   * time zone, an `occurredAt` outside its window, or a subscription without an address. Throws 503 while too much
   * waits, or if no required replica acknowledges (the events may then be queued). With `wait`, resolves with the
   * result of each event, or with `null` after 25 s; the events are still processed. `refused` collects the errors of
   * invalid events by index, instead of refusing the batch. `onQueued` is called as soon as the events are queued.
   */
  async function accept(
    tenantNo: number,
    batch: readonly BatchMetricEvent[],
    { wait, refused, onQueued }: { wait: boolean; refused?: Map<number, AppError>; onQueued?: () => void },
  ): Promise<BatchEventResult[] | null> {
    if (overloaded()) throw tooMuch();
    const compiled = await catalogs.of(tenantNo);
    const acceptedMs = clock.now();
    await check(compiled, batch, acceptedMs, refused);
    const events = batch.filter((_, index) => refused?.has(index) !== true);
    if (events.length === 0) return wait ? withRefused([], batch.length, refused) : null;
    const queued = await queue(tenantNo, events, {
      acceptedMs,
      catalogVersion: compiled.catalog.version,
      awaited: wait,
    });
    onQueued?.();
    if (!wait) return null;

    const deadlineMs = performance.now() + WAIT_MS;
    const answered = await Promise.all(queued.map((some) => repliesOf(some, deadlineMs)));
    if (answered.includes(null)) return null;
    const replies: BatchReply[] = [];
    for (const [nth, { at }] of queued.entries())
      for (const [index, reply] of answered[nth]!.entries()) replies[at[index]!] = reply;
    const latest = await catalogs.of(tenantNo);
    return withRefused(await resultsOf({ compiled: latest, ids }, events, replies), batch.length, refused);
  }

  /**
   * Queues each part's events in its shard. Throws 503 before anything is queued if a shard is closed or too much waits
   * there. If a server fails in between, some parts are queued, as after any 503 that came too late.
   */
  async function queue(
    tenantNo: number,
    events: readonly BatchMetricEvent[],
    batch: Pick<AcceptedBatch, 'acceptedMs' | 'catalogVersion' | 'awaited'>,
  ): Promise<QueuedPart[]> {
    const numbered = events.map((event, index) => ({ event, index }));
    const groups = [...byPart(redis, tenantNo, numbered, ({ event }) => event.user.id)];
    for (const [{ shard }] of groups) refuseUnacknowledged(redis, shard);
    if (groups.length > 1) {
      const waiting = await Promise.all(groups.map(([{ shard }]) => redis.xlen(batchesKey(shard))));
      if (Math.max(...waiting) >= MAX_WAITING) throw tooMuch();
    }
    return Promise.all(
      groups.map(async ([part, some]) => {
        const batchId = await addBatch(
          redis,
          { ...part, ...batch, events: some.map(({ event }) => event) },
          MAX_WAITING,
        );
        if (batchId === null) throw tooMuch();
        await acknowledged(redis, part.shard);
        onAccepted(part.shard);
        return { part, batchId, at: some.map(({ index }) => index) };
      }),
    );
  }

  /** The answers to a part's events; `null` if they are not processed in time. */
  async function repliesOf(
    { part: { shard }, batchId, at }: QueuedPart,
    deadlineMs: number,
  ): Promise<BatchReply[] | null> {
    while (performance.now() < deadlineMs) {
      const replies = await batchReplies(redis, { shard, batchId, events: at.length });
      if (replies !== null) {
        await acknowledged(redis, shard);
        return replies;
      }
      await inOwnTurn(sleep(LOOK_MS));
    }
    return null;
  }

  /** Throws the error of the first invalid event. With `refused`, collects the errors of all of them. */
  async function check(
    compiled: CompiledCatalog,
    batch: readonly BatchMetricEvent[],
    acceptedMs: number,
    refused: Map<number, AppError> | undefined,
  ): Promise<void> {
    const { tenantNo, events } = compiled.catalog;
    const refuse = (index: number, error: AppError): void => {
      if (refused === undefined) throw error;
      refused.set(index, error);
    };
    const left = (): number[] => [...batch.keys()].filter((index) => refused?.has(index) !== true);
    const slices = new Slices();
    for (const index of left()) {
      if (slices.over) await slices.turn();
      const error = faultOf(compiled, batch[index]!, {
        index,
        nowMs: acceptedMs,
        window: { ...events, byClient: false },
      });
      if (error !== null) refuse(index, error);
    }
    const indexes = left();
    const unreachable = await eventsWithoutAddress(
      indexes.map((index) => batch[index]!),
      (userIds) => withAddress(tenantNo, userIds),
    );
    for (const at of unreachable)
      refuse(indexes[at]!, new AppError('unprocessable', `[${indexes[at]!}].${SUBSCRIBED_WITHOUT_ADDRESS}`));
  }

  return { accept };
}

export type BatchIntake = ReturnType<typeof createBatchIntake>;

/** The results of a batch, with the errors of refused events at their indexes. */
function withRefused(
  results: readonly BatchEventResult[],
  size: number,
  refused: ReadonlyMap<number, AppError> = new Map(),
): BatchEventResult[] {
  let next = 0;
  return Array.from({ length: size }, (_, index) => {
    const error = refused.get(index);
    return error === undefined ? results[next++]! : { status: error.status, error: error.message, code: error.code };
  });
}

/** Converts in slices: the answer of an event that moves a hundred boards takes 50 KB. */
async function resultsOf(
  named: { compiled: CompiledCatalog; ids: KeyedIds },
  events: BatchMetricEvent[],
  replies: BatchReply[],
): Promise<BatchEventResult[]> {
  const slices = new Slices();
  const results: BatchEventResult[] = [];
  for (const [index, reply] of replies.entries()) {
    results.push(batchEventResult(named, events[index]!, reply));
    if (slices.over) await slices.turn();
  }
  return results;
}

const tooMuch = (): AppError => new Overload('Too many events wait to be processed; try again in a moment.');

/** Why the catalog does not allow an event; `null` if it does. The message names the index. */
function faultOf(
  compiled: CompiledCatalog,
  { key, user, attributes, occurredAt, metadata }: BatchMetricEvent,
  { index, nowMs, window }: { index: number; nowMs: number; window: EventWindow },
): AppError | null {
  if (!compiled.metrics.has(key)) {
    const hint = didYouMean(key, compiled.metrics.keys());
    const text = `[${index}].key: there is no metric with the key '${key}'. ${UNKNOWN_METRIC}`;
    return new AppError('not_found', text, { hint });
  }
  try {
    rejectUnknownAttributes({ user, attributes }, compiled);
    sentUser(user, compiled, { nowMs, byClient: false });
    if (metadata !== undefined) metadataText(metadata);
    if (occurredAt !== undefined) occurredMs(occurredAt, window, nowMs);
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return new AppError(error.code, `[${index}]: ${error.message}`, { hint: error.hint });
  }
}

/** An event's result in a batch, with the status that the single operation would answer. */
function batchEventResult(
  { compiled, ids }: { compiled: CompiledCatalog; ids: KeyedIds },
  event: BatchMetricEvent,
  reply: BatchReply,
): BatchEventResult {
  const { key, user, idempotencyKey } = event;
  if (reply[kindField] === REFUSAL.unsent) {
    const code = reply[UNSENT.code];
    return { status: ERRORS[code].status, error: reply[UNSENT.message], code };
  }
  if (reply[kindField] === KIND.event) {
    const total = totalOf(reply[RECORD.total]!);
    return { status: 201, eventId: uuidText(reply[RECORD.id]), total, replayed: false, ...guardedResult(reply) };
  }
  if (reply[kindField] === KIND.guarded && isQuarantined(reply)) {
    const guarded = inQuarantine(reply[RECORD.guard][GUARDED.guard]);
    const total = totalOf(reply[RECORD.total]!);
    return { status: 202, eventId: uuidText(reply[RECORD.id]), total, replayed: false, guarded };
  }
  const metric = compiled.metrics.get(key);
  if (reply[kindField] === REFUSAL.replay) {
    const total = totalOf(reply[REPLAY.total]);
    // The number of a deleted metric is unknown, so no ID can be derived.
    if (metric === undefined) return { status: 202, total, replayed: true };
    const { tenantNo } = compiled.catalog;
    const id = ids.make(Number(timeOfUse(reply[REPLAY.use])), {
      tenantNo,
      userId: user.id,
      metricNo: metric.no,
      key: idempotencyKey!,
    });
    const guard = quarantinedBy(reply[REPLAY.quarantined], id);
    const guarded = guard === null ? {} : { guarded: inQuarantine(guard) };
    const conflict = isOtherBody(reply[REPLAY.use], bodyOf(event)) ? { idempotencyConflict: true } : {};
    return { status: 202, eventId: uuidText(id), total, replayed: true, ...conflict, ...guarded };
  }
  const { status, message, code } =
    reply[kindField] === KIND.guarded ? guardError(compiled, reply) : refusalError(compiled, reply);
  return { status, error: message, code };
}

const inQuarantine = (guard: number): GuardedEvent => ({ guard: guardName(guard), action: 'quarantine' });

const totalOf = (packed: PackedTotal): number => decimalNumber(decimalOf(packed));

/**
 * Indexes of events that subscribe a user without an address to e-mails. An address may be on record, or come from the
 * same or an earlier event. Looks up only users who are subscribed before an event says anything about their address.
 */
async function eventsWithoutAddress(
  events: readonly BatchMetricEvent[],
  hasAddress: (userIds: string[]) => Promise<ReadonlySet<string>>,
): Promise<number[]> {
  if (!events.some(({ user }) => user.subscribeToEmails === true)) return [];
  const subscribers = new Set<string>();
  const known = new Set<string>();
  for (const { user } of events) {
    if (user.subscribeToEmails === true && !user.email && !known.has(user.id)) subscribers.add(user.id);
    if (user.email || user.subscribeToEmails === false) known.add(user.id);
  }
  const reachable = new Set(subscribers.size === 0 ? [] : await hasAddress([...subscribers]));
  const unreachable: number[] = [];
  for (const [index, { user }] of events.entries()) {
    // A refused event changes nothing, so the user's later events still find the earlier address.
    if (user.email) reachable.add(user.id);
    if (user.subscribeToEmails === true && !reachable.has(user.id)) unreachable.push(index);
    if (user.subscribeToEmails === false) reachable.delete(user.id);
  }
  return unreachable;
}
