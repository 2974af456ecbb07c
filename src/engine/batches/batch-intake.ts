import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { BatchEventResult, BatchMetricEvent } from '../../domain/event.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { AppError } from '../../errors.ts';
import { occurredMs, type EventWindow } from '../events/prepare-event.ts';
import { Overload } from '../refusals.ts';
import { addBatch, batchReplies, type BatchReply } from '../../redis/batches.ts';
import { acknowledged, refuseUnacknowledged } from '../../redis/gate.ts';
import { shardOf } from '../../redis/keys.ts';
import { Slices } from '../../slices.ts';
import type { KeyedIds } from '../ids/keyed-ids.ts';
import { rejectUnknownAttributes, sentUser } from '../users/sent-user.ts';
import { SUBSCRIBED_WITHOUT_ADDRESS } from '../refusals.ts';
import { batchEventResult } from './batch-event-result.ts';
import { eventsWithoutAddress } from './subscriptions.ts';

export interface BatchIntakeOptions {
  redis: Redis;
  catalogs: { of(tenantNo: number): CompiledCatalog | Promise<CompiledCatalog> };
  clock: Clock;
  ids: KeyedIds;
  /** Those of a tenant's users who have an e-mail address on record. */
  withAddress: (tenantNo: number, userIds: string[]) => Promise<ReadonlySet<string>>;
  /** Tells that a shard has a new batch. */
  onAccepted: (shard: number) => void;
  /** Whether the outbox holds more than it may, so that no event is taken. */
  overloaded: () => boolean;
}

/** Batches of one shard that may wait: 64,000 events, some seconds of work; at most 64 MiB. */
const MAX_WAITING = 64;
/** Below the time after which clients and proxies commonly give up. */
const WAIT_MS = 25_000;
const LOOK_MS = 20;

/** Takes batches of events: checks them, queues them durably, and reports what became of them to a caller who waits. */
export class BatchIntake {
  private readonly options: BatchIntakeOptions;

  constructor(options: BatchIntakeOptions) {
    this.options = options;
  }

  /**
   * Queues a tenant's events as a whole or not at all: when this resolves they are in Redis, and each will be
   * processed once, in order, at the time of now. Errors name the index: 404 for an unknown metric, 422 for an
   * unknown attribute or time zone, an `occurredAt` outside its window, or a subscription without an address; 503 while too
   * much waits, or if no required replica acknowledges (they may be queued then). With `wait`, resolves with the result of
   * each event, or with null after 25 s: they are queued, and will be processed all the same.
   * `refused`: errors by index of events that are left out. With it, invalid events are added instead of refusing the batch.
   * `onQueued` is called as soon as they are queued.
   */
  async accept(
    tenantNo: number,
    batch: readonly BatchMetricEvent[],
    { wait, refused, onQueued }: { wait: boolean; refused?: Map<number, AppError>; onQueued?: () => void },
  ): Promise<BatchEventResult[] | null> {
    const { redis, catalogs, clock, ids, onAccepted, overloaded } = this.options;
    if (overloaded()) throw tooMuch();
    const compiled = await catalogs.of(tenantNo);
    const acceptedMs = clock.now();
    await this.check(compiled, batch, { acceptedMs, refused });
    const events = batch.filter((_, index) => refused?.has(index) !== true);
    if (events.length === 0) return wait ? withRefused([], batch.length, refused) : null;
    refuseUnacknowledged(redis, shardOf(tenantNo));
    const batchId = await addBatch(
      redis,
      { tenantNo, acceptedMs, catalogVersion: compiled.catalog.version, awaited: wait, events },
      MAX_WAITING,
    );
    if (batchId === null) throw tooMuch();
    await acknowledged(redis, shardOf(tenantNo));
    onAccepted(shardOf(tenantNo));
    onQueued?.();
    if (!wait) return null;

    const deadlineMs = performance.now() + WAIT_MS;
    while (performance.now() < deadlineMs) {
      const replies = await batchReplies(redis, { tenantNo, batchId, events: events.length });
      if (replies !== null) {
        await acknowledged(redis, shardOf(tenantNo));
        const latest = await catalogs.of(tenantNo);
        return withRefused(await resultsOf({ compiled: latest, ids }, events, replies), batch.length, refused);
      }
      await sleep(LOOK_MS);
    }
    return null;
  }

  /** Throws the error of the first invalid event; with `refused`, adds the errors of all. */
  private async check(
    compiled: CompiledCatalog,
    batch: readonly BatchMetricEvent[],
    { acceptedMs, refused }: { acceptedMs: number; refused: Map<number, AppError> | undefined },
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
      (userIds) => this.options.withAddress(tenantNo, userIds),
    );
    for (const at of unreachable)
      refuse(indexes[at]!, new AppError('unprocessable', `[${indexes[at]!}].${SUBSCRIBED_WITHOUT_ADDRESS}`));
  }
}

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

/** In slices: an event that moves a hundred boards has an answer of 50 KB. */
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

/** Why the catalog does not allow an event; null if it does. The message names the index. */
function faultOf(
  compiled: CompiledCatalog,
  { key, user, attributes, occurredAt }: BatchMetricEvent,
  { index, nowMs, window }: { index: number; nowMs: number; window: EventWindow },
): AppError | null {
  if (!compiled.metrics.has(key)) {
    const hint = didYouMean(key, compiled.metrics.keys());
    return new AppError('not_found', `[${index}].key: there is no metric with the key '${key}'.`, { hint });
  }
  try {
    rejectUnknownAttributes({ user, attributes }, compiled);
    sentUser(user, compiled, { nowMs, byClient: false });
    if (occurredAt !== undefined) occurredMs(occurredAt, window, nowMs);
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return new AppError(error.code, `[${index}]: ${error.message}`, { hint: error.hint });
  }
}
