/** The persister: copies outboxes to Postgres. */
import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { GuardedRow } from '../../postgres/corrections/quarantine.ts';
import { readCursor } from '../../postgres/shards.ts';
import { HANDED_BYTES, readHanded, readHandedOver, readHandedPosition } from '../../redis/handed-over.ts';
import {
  comparePositions,
  isStoredLater,
  lastPosition,
  type RawEntry,
  readOutbox,
  trimOutbox,
} from '../../redis/outbox.ts';
import { around } from '../../telemetry/spans.ts';
import type { Traces, WorkSpan } from '../../telemetry/traces.ts';
import type { Reporter } from '../notifications/reporter.ts';
import { isAboutData } from './about-data.ts';
import { type Reported, writeBatch } from './batch-transaction.ts';
import { type Batch, toBatch } from './batch.ts';
import { type SetAside, storeDamaged } from './refused-entries.ts';

/** A shard's outbox cannot be stored, from no fault of a single entry, until Redis or a person has mended it. */
export class StuckShard extends Error {
  readonly shard: number;
  readonly streamId: string;

  constructor(shard: number, streamId: string, cause: unknown) {
    super(
      `Shard ${shard} stands still at outbox entry ${streamId}: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        cause,
      },
    );
    this.name = 'StuckShard';
    this.shard = shard;
    this.streamId = streamId;
  }
}

/** The steps of a batch, in their order; `kept`: Redis keeps an entry that Postgres does not take even as bytes. */
export type PersistStep = 'read' | 'kept' | 'written' | 'committed' | 'trimmed';

/** A transaction that stored entries. */
export interface Stored {
  entries: number;
  /** How many of what the entries hold are events. */
  events: number;
  /** Events that guards stopped. */
  guarded: readonly GuardedRow[];
  /** How long the transaction took, ms. */
  ms: number;
}

export interface PersisterOptions {
  redis: Redis;
  pool: Pool;
  /** The storage epoch of an open shard; null if the shard is closed and nothing may be stored. Without a gate all is stored. */
  gate?: {
    storageEpochOf(shard: number): string | null;
    /** Called when Redis and Postgres contradict each other about a shard. */
    contradicted?(shard: number): void;
    /** Only what a replica has is stored: Postgres may not hold what a Redis that takes over does not. */
    acknowledgementOf?(shard: number): { wait(): Promise<void> } | null;
  };
  /** How long entries are kept that Postgres holds (`handed-over.ts`); not at all without it. */
  keepMs?: number;
  /** Makes messages to webhooks of what is stored; without it nobody hears of it. */
  reporter?: Reporter;
  /** Called when Postgres holds what was reported of a batch: messages may wait to be sent. */
  onReported?: () => void;
  /** Called when an entry was set aside, once for each. */
  onSetAside?: (entry: SetAside) => void;
  /** Called after each transaction that stored entries. */
  onTransaction?: (stored: Stored) => void;
  /** Makes a span of each transaction that is sampled; null or left out: none. */
  traces?: Traces | null;
  /** Called when Postgres holds more than before, or may: after each batch, and when a `drain` ends. */
  onStored?: () => void;
  /** Called after each step of each batch: for tests, which stop the world there. */
  onStep?: (step: PersistStep, shard: number) => void | Promise<void>;
}

/**
 * The most entries of one transaction, and their bytes (about): the number asked for follows the size of the last
 * ones. The first read is small because nothing is known yet: an entry has 1 to some hundred events.
 */
const MAX_ENTRIES = 2000;
const MAX_BYTES = 4 * 1024 * 1024;
const FIRST_ENTRIES = 64;

/**
 * Pause between batches while less than a full one waits, so that events of a quarter of a second share one
 * transaction: at 4,000 events/s 44 µs of CPU an event (worker 20, Postgres 24), with 100 ms 50. The first event
 * after a quiet time does not wait.
 */
const PAUSE_MS = 250;
/**
 * While more shards than this are stored by one process the pauses grow with them, at most to a second: a transaction costs
 * the same for one event as for ten, and many small tenants are on as many shards.
 */
const SHARDS_A_PAUSE = 8;
const MAX_PAUSE_MS = 1_000;

/** How often what a batch reports is made again because the configuration changed meanwhile: edits must not hold up what is stored. */
const MOST_REPORTS = 4;

/** How soon a shard whose sweep has ended is stored, and how long that may take: about two million users. */
const LOOK_MS = 50;
const CATCH_UP_MS = 120_000;

/** A shard that stands still is woken all the time, and tried again this often only. */
const RETRY_STUCK_MS = 2000;

/**
 * Moves what the outbox holds into Postgres. Each entry goes in exactly once: rows and cursor are one
 * transaction, and an entry leaves the stream only when Postgres holds it. Any number of persisters may work on a
 * shard; they exclude each other by the cursor's row.
 *
 * CPU an event of the demo catalog (1,750 events a transaction, 100,000 users, 0.8 awards and 0.3 completions an event):
 * worker 15 µs, Postgres 35 to 37. In Postgres: events 8, more than half of it for the index on their users; awards 5;
 * completions 2.5; users 10.5 each where only state or points changed, 48 where an attribute did (that is no HOT
 * update, so it touches every index); committing 2. Measured on the built-in Postgres, which is compiled for size (-Os).
 * Users as JSON cost 88 in all.
 */
export class Persister {
  private readonly options: PersisterOptions;
  private readonly keep: { ms: number; bytes: number };
  private readonly atWork = new Map<number, number>();
  /** When a shard's entries last waited for a sweep (`performance.now()`). */
  private readonly gaveWayAt = new Map<number, number>();
  private readonly stuck = new Map<number, { error: StuckShard; since: number }>();

  constructor(options: PersisterOptions) {
    this.options = options;
    this.keep = { ms: options.keepMs ?? 0, bytes: HANDED_BYTES };
  }

  /** Whether a `drain` of the shard is under way in this process. */
  isAtWork(shard: number): boolean {
    return (this.atWork.get(shard) ?? 0) > 0;
  }

  /** Whether the shard's entries wait for a sweep, see `storing-order.ts`, or did so not long ago and are not all stored. */
  gaveWay(shard: number): boolean {
    return performance.now() - (this.gaveWayAt.get(shard) ?? -Infinity) < CATCH_UP_MS;
  }

  /**
   * Works until the shard's outbox is empty, another persister is found at it, or the gate is shut. `hurry`, once aborted,
   * leaves out the pauses, and does not wait for the end of a sweep. Returns the number of entries stored. An
   * entry that cannot be stored is set aside (`set-aside.ts`). Throws StuckShard where Redis lost what the outbox held (a
   * call some seconds later tries again), or the error of a server that is away.
   */
  async drain(shard: number, hurry?: AbortSignal): Promise<number> {
    const stuck = this.stuck.get(shard);
    if (stuck !== undefined && performance.now() - stuck.since < RETRY_STUCK_MS) throw stuck.error;
    this.atWork.set(shard, (this.atWork.get(shard) ?? 0) + 1);
    try {
      const start = await this.start(shard);
      const stored = start === null ? 0 : await this.drainFrom(shard, start, hurry);
      this.stuck.delete(shard);
      return stored;
    } catch (error) {
      if (error instanceof StuckShard) this.stuck.set(shard, { error, since: performance.now() });
      throw error;
    } finally {
      const others = (this.atWork.get(shard) ?? 1) - 1;
      if (others === 0) this.atWork.delete(shard);
      else this.atWork.set(shard, others);
      this.options.onStored?.();
    }
  }

  /**
   * The cursor, checked: a stream that never came as far as the cursor is one that lost entries, and a cursor before what was
   * handed over is of a Postgres that came back older. `again`: what was handed over up to there is to be stored again. Null:
   * the gate is shut.
   */
  private async start(shard: number): Promise<{ cursor: string; again: string } | null> {
    const { redis, pool, gate } = this.options;
    if (gate?.storageEpochOf(shard) === null) return null;
    const handed = await readHandedOver(redis, shard);
    const cursor = await readCursor(pool, shard);
    const last = await lastPosition(redis, shard);
    const isBehind = comparePositions(last, cursor) < 0;
    if (!isBehind && comparePositions(handed.floor, cursor) <= 0) return { cursor, again: handed.position };
    if (gate?.contradicted !== undefined) {
      gate.contradicted(shard);
      return null;
    }
    const why = isBehind
      ? `the outbox ends before the cursor ${cursor}: Redis lost data and must be rebuilt`
      : `the cursor ${cursor} is before what left the outbox up to ${handed.floor}: Postgres came back older`;
    throw new StuckShard(shard, last, why);
  }

  private async drainFrom(
    shard: number,
    { cursor: start, again }: { cursor: string; again: string },
    hurry: AbortSignal | undefined,
  ): Promise<number> {
    const { redis, gate } = this.options;
    let cursor = start;
    let count = FIRST_ENTRIES;
    // The next so many entries could not be stored together: one of them, at least, cannot be.
    let suspects = 0;
    let stored = 0;
    for (let first = true; ; first = false) {
      const asked = suspects > 0 ? Math.ceil(suspects / 2) : count;
      await this.giveWay(shard, hurry);
      // Asked in the same turn as the read is sent: what it returns belongs to this storage epoch.
      const storageEpoch = gate?.storageEpochOf(shard);
      if (storageEpoch === null) return stored;
      const read = comparePositions(cursor, again) < 0 ? readHanded : readOutbox;
      const asking = read(redis, { shard, after: cursor, count: asked });
      // Answered after the entries, in the same round trip.
      const [raw, handedUpTo] = await Promise.all([asking, readHandedPosition(redis, shard)]);
      // Another persister handed over more: what lies between is not in the outbox, whatever the cursor says by now.
      if (read === readOutbox && comparePositions(handedUpTo, cursor) > 0) return stored;
      // What was kept is gone since: the next call finds that.
      if (raw.length === 0 && read === readHanded) return stored;
      if (raw.length === 0) {
        // What a crash between COMMIT and trimming left.
        if (first) await trimOutbox(redis, shard, cursor, this.keep);
        this.gaveWayAt.delete(shard);
        return stored;
      }
      await gate?.acknowledgementOf?.(shard)?.wait();
      let position: string | null;
      try {
        position = await this.store(shard, { after: cursor, storageEpoch, raw });
      } catch (error) {
        if (!isAboutData(error)) throw error;
        if (raw.length > 1) {
          suspects = raw.length;
          continue;
        }
        position = await this.setAside(shard, { after: cursor, storageEpoch, raw: raw[0]! });
      }
      // Another persister is at work. It reads again after its COMMIT, so it will find all that we were woken for.
      if (position === null) return stored;
      cursor = position;
      stored += raw.length;
      suspects = Math.max(0, suspects - raw.length);
      count = entriesFor(raw);
      if (raw.length < asked && hurry?.aborted !== true) await pause(pauseMs(this.atWork.size), hurry);
    }
  }

  private async giveWay(shard: number, hurry: AbortSignal | undefined): Promise<void> {
    const { redis, gate } = this.options;
    while (hurry?.aborted !== true && gate?.storageEpochOf(shard) !== null && (await isStoredLater(redis, shard))) {
      this.gaveWayAt.set(shard, performance.now());
      await pause(LOOK_MS, hurry);
    }
  }

  /** One batch. Returns the cursor's new position; null, and nothing is stored, if another persister is at work. */
  private async store(
    shard: number,
    { after, storageEpoch, raw }: { after: string; storageEpoch: string | undefined; raw: RawEntry[] },
  ): Promise<string | null> {
    const { redis, pool, traces = null, onStep } = this.options;
    await onStep?.('read', shard);
    const batch = toBatch(raw);
    const beforeCommit = onStep && (() => onStep('written', shard));
    let reported: Reported | undefined;
    let begunMs: number;
    for (let tries = 1; ; tries += 1) {
      reported = await this.reportOf(batch, tries);
      begunMs = performance.now();
      const write = { redis, shard, after, storageEpoch, batch, reported, beforeCommit };
      const outcome = await around(traces, transactionSpan(shard, batch), async (span) => {
        const written = await writeBatch(pool, write);
        span?.setAttribute('laurel.outcome', written);
        return written;
      });
      if (outcome === 'passed') return null;
      if (outcome === 'stored') break;
      await reported?.reporter.refresh();
    }
    this.options.onTransaction?.({
      entries: raw.length,
      events: batch.events.length,
      guarded: batch.guarded,
      ms: performance.now() - begunMs,
    });
    if ((reported?.report.notifications.length ?? 0) > 0) this.options.onReported?.();
    await this.trim(shard, batch.position);
    return batch.position;
  }

  private async reportOf({ entries }: Batch, tries: number): Promise<Reported | undefined> {
    const { reporter } = this.options;
    if (reporter === undefined) return undefined;
    const report = (await reporter.prepare(entries)).reportOf(entries);
    return { reporter, report, isFinal: tries === MOST_REPORTS };
  }

  /** The same of an entry that cannot be stored as it is. */
  private async setAside(
    shard: number,
    { after, storageEpoch, raw }: { after: string; storageEpoch: string | undefined; raw: RawEntry },
  ): Promise<string | null> {
    const { redis, pool, reporter, onStep, onSetAside } = this.options;
    const step = onStep && ((step: PersistStep) => onStep(step, shard));
    const aside = await storeDamaged(pool, { redis, shard, after, storageEpoch, raw, reporter, onStep: step });
    if (aside === false) return null;
    if (aside !== 'stored') onSetAside?.(aside);
    if (reporter !== undefined) this.options.onReported?.();
    const position = raw[0].toString('latin1');
    await this.trim(shard, position);
    return position;
  }

  private async trim(shard: number, position: string): Promise<void> {
    const { redis, onStored, onStep } = this.options;
    await onStep?.('committed', shard);
    onStored?.();
    await trimOutbox(redis, shard, position, this.keep);
    await onStep?.('trimmed', shard);
  }
}

/**
 * The span of a transaction. It begins a trace of its own: to continue those of its events their records would have to hold the
 * traces, 24 bytes each in Redis, for all events or for those sampled, of a transaction that one trace could not hold anyway.
 */
const transactionSpan = (shard: number, { entries, events }: Batch): WorkSpan => ({
  name: 'persist',
  isCall: true,
  attributes: () => ({
    'db.system.name': 'postgresql',
    'laurel.shard': shard,
    'laurel.entries': entries.length,
    'laurel.events': events.length,
  }),
});

/** How many entries of the size of these make a batch. */
function entriesFor(raw: readonly RawEntry[]): number {
  let bytes = 0;
  for (const [, fields] of raw) for (const field of fields) bytes += field.length;
  return Math.max(1, Math.min(MAX_ENTRIES, Math.floor((MAX_BYTES * raw.length) / Math.max(bytes, 1))));
}

const pauseMs = (shards: number): number => Math.min(MAX_PAUSE_MS, PAUSE_MS * Math.max(1, shards / SHARDS_A_PAUSE));

const pause = (ms: number, hurry: AbortSignal | undefined): Promise<void> =>
  sleep(ms, undefined, hurry && { signal: hurry }).catch(() => undefined);
