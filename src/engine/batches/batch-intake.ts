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
import { firstWithoutAddress } from './subscriptions.ts';

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
   * much waits, or where no replica that must have them says so (they may be queued then). With `wait`,
   * resolves with what became of each event; with null if that takes longer than 25 s: they are queued, and will be
   * processed all the same. `onQueued` is called as soon as they are queued.
   */
  async accept(
    tenantNo: number,
    events: BatchMetricEvent[],
    { wait, onQueued }: { wait: boolean; onQueued?: () => void },
  ): Promise<BatchEventResult[] | null> {
    const { redis, catalogs, clock, ids, onAccepted, overloaded } = this.options;
    if (overloaded()) throw tooMuch();
    const compiled = await catalogs.of(tenantNo);
    const acceptedMs = clock.now();
    await checkEvents(compiled, events, { nowMs: acceptedMs, window: { ...compiled.catalog.events, byClient: false } });
    const unreachable = await firstWithoutAddress(events, (userIds) => this.options.withAddress(tenantNo, userIds));
    if (unreachable !== null) throw new AppError('unprocessable', `[${unreachable}].${SUBSCRIBED_WITHOUT_ADDRESS}`);
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
        const compiled = await catalogs.of(tenantNo);
        return await resultsOf({ compiled, ids }, events, replies);
      }
      await sleep(LOOK_MS);
    }
    return null;
  }
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

/** Rejects for the first event that the catalog does not allow, and names its index. In slices. */
async function checkEvents(
  compiled: CompiledCatalog,
  events: BatchMetricEvent[],
  { nowMs, window }: { nowMs: number; window: EventWindow },
): Promise<void> {
  const slices = new Slices();
  for (const [index, { key, user, attributes, occurredAt }] of events.entries()) {
    if (slices.over) await slices.turn();
    if (!compiled.metrics.has(key)) {
      throw new AppError('not_found', `[${index}].key: there is no metric with the key '${key}'.`, {
        hint: didYouMean(key, compiled.metrics.keys()),
      });
    }
    try {
      rejectUnknownAttributes({ user, attributes }, compiled);
      sentUser(user, compiled, { nowMs, byClient: false });
      if (occurredAt !== undefined) occurredMs(occurredAt, window, nowMs);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      throw new AppError(error.code, `[${index}]: ${error.message}`, { hint: error.hint });
    }
  }
}
