import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { GuardedRow } from '../../postgres/corrections/quarantine.ts';
import { readCursor } from '../../postgres/shards.ts';
import { HANDED_BYTES, readHanded, readHandedOver, readHandedPosition } from '../../redis/handed-over.ts';
import { comparePositions, lastPosition, type RawEntry, readOutbox, trimOutbox } from '../../redis/outbox.ts';
import { notePostgresFull } from '../../redis/work-counts.ts';
import { around } from '../../telemetry/spans.ts';
import type { Traces, WorkSpan } from '../../telemetry/traces.ts';
import type { Reporter } from '../notifications/reporter.ts';
import { fullServer } from '../unavailable.ts';
import { isAboutData } from './about-data.ts';
import { type Reported, writeBatch } from './batch-transaction.ts';
import { type Batch, toBatch } from './batch.ts';
import { Pauses } from './pauses.ts';
import { type SetAside, storeDamaged } from './refused-entries.ts';

/** A shard's outbox cannot be stored, and no single entry is the cause. Redis or an operator must repair it. */
export class StuckShard extends Error {
  readonly shard: number;
  readonly streamId: string;

  constructor(shard: number, streamId: string, cause: unknown) {
    super(
      `Shard ${shard} is stuck at outbox entry ${streamId}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
    this.name = 'StuckShard';
    this.shard = shard;
    this.streamId = streamId;
  }
}

export type PersistStep = 'read' | 'kept' | 'written' | 'committed' | 'trimmed';

/** A transaction that stored entries. */
export interface Stored {
  entries: number;
  /** Number of events in the entries. */
  events: number;
  /** Events that guards stopped. */
  guarded: readonly GuardedRow[];
  /** Duration of the transaction (ms). */
  ms: number;
}

export interface PersisterOptions {
  redis: Redis;
  pool: Pool;
  /** The storage epoch of an open shard; `null` if it is closed and nothing may be stored. */
  gate?: {
    storageEpochOf(shard: number): string | null;
    /** Called when Redis and Postgres contradict each other about a shard. */
    contradicted?(shard: number): void;
    /** Only acknowledged entries are stored: Postgres must not hold what a Redis that takes over lacks. */
    acknowledgementOf?(shard: number): { wait(): Promise<void> } | null;
  };
  keepMs?: number;
  /** Makes webhook messages of stored entries; without it there are none. */
  reporter?: Reporter;
  onReported?: () => void;
  /** Called when a merge is stored, whose rows a job may have to move. */
  onMerged?: () => void;
  onSetAside?: (entry: SetAside) => void;
  onTransaction?: (stored: Stored) => void;
  traces?: Traces | null;
  /** Called when Postgres may hold more than before: after each batch, and when a `drain` ends. */
  onStored?: (shard: number) => void;
  onStep?: (step: PersistStep, shard: number) => void | Promise<void>;
}

/** What a batch leaves: the cursor's new position, and whether the pause after it may be long. */
interface Progress {
  position: string;
  mayPause: boolean;
}

/** Most entries, and their approximate size, in a transaction. The first read is small. */
const MAX_ENTRIES = 2000;
const MAX_BYTES = 4 * 1024 * 1024;
const FIRST_ENTRIES = 64;

/** Events after which the pause may be long. */
const MANY_EVENTS = 100;

/** How often a batch's report is made again because the configuration changed meanwhile. Edits must not hold up storage. */
const MOST_REPORTS = 4;

/** Interval between retries of a stuck shard, which is woken all the time. */
const RETRY_STUCK_MS = 2000;

/**
 * Moves outbox entries to Postgres, each exactly once: rows and cursor are one transaction, and an entry leaves the stream
 * only when Postgres holds it. Several persisters may work on a shard; the cursor's row lock excludes all but one.
 */
export class Persister {
  private readonly options: PersisterOptions;
  private readonly keep: { ms: number; bytes: number };
  private readonly atWork = new Map<number, number>();
  private readonly pauses: Pauses;
  private readonly stuck = new Map<number, { error: StuckShard; since: number }>();

  constructor(options: PersisterOptions) {
    this.options = options;
    this.keep = { ms: options.keepMs ?? 0, bytes: HANDED_BYTES };
    this.pauses = new Pauses(options);
  }

  isAtWork(shard: number): boolean {
    return (this.atWork.get(shard) ?? 0) > 0;
  }

  /** Ends a pause of this process's work on a shard. Returns whether it works on it. */
  hasten(shard: number): boolean {
    this.pauses.end(shard);
    return this.isAtWork(shard);
  }

  /** See `Pauses.gaveWay`. */
  gaveWay(shard: number): boolean {
    return this.pauses.gaveWay(shard);
  }

  /**
   * Works until the shard's outbox is empty or stored up to a position, another persister works on it, or the gate is closed.
   * Aborting `hurry` skips the pauses and the wait for a sweep. Returns the number of entries stored. Entries that cannot be stored are
   * set aside (`refused-entries.ts`). Throws StuckShard if Redis lost outbox entries (a call some seconds later tries
   * again), or the error of a server that is away.
   */
  async drain(shard: number, hurry?: AbortSignal, upTo?: string): Promise<number> {
    const stuck = this.stuck.get(shard);
    if (stuck !== undefined && performance.now() - stuck.since < RETRY_STUCK_MS) throw stuck.error;
    this.atWork.set(shard, (this.atWork.get(shard) ?? 0) + 1);
    try {
      const start = await this.start(shard);
      const stored = start === null ? 0 : await this.drainFrom(shard, { ...start, upTo }, hurry);
      this.stuck.delete(shard);
      return stored;
    } catch (error) {
      if (fullServer(error) === 'postgres') await notePostgresFull(this.options.redis);
      if (error instanceof StuckShard) this.stuck.set(shard, { error, since: performance.now() });
      throw error;
    } finally {
      const others = (this.atWork.get(shard) ?? 1) - 1;
      if (others === 0) this.atWork.delete(shard);
      else this.atWork.set(shard, others);
      this.options.onStored?.(shard);
    }
  }

  /**
   * Reads and checks the cursor. A stream that ends before the cursor has lost entries; a cursor before the handed-over
   * position belongs to a Postgres restored from an older state. `again`: entries that were handed over up to here must
   * be stored again. Returns `null` if the gate is closed.
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
    { cursor: start, again, upTo }: { cursor: string; again: string; upTo: string | undefined },
    hurry: AbortSignal | undefined,
  ): Promise<number> {
    const { redis, gate } = this.options;
    let cursor = start;
    let count = FIRST_ENTRIES;
    // The next entries, this many, could not be stored together: at least one of them is bad.
    let suspects = 0;
    let stored = 0;
    for (let first = true; upTo === undefined || comparePositions(cursor, upTo) < 0; first = false) {
      const limit = suspects > 0 ? Math.ceil(suspects / 2) : count;
      await this.pauses.whileSwept(shard, hurry);
      // Read in the same turn as the entries are requested, so they belong to this storage epoch.
      const storageEpoch = gate?.storageEpochOf(shard);
      if (storageEpoch === null) return stored;
      const readMs = performance.now();
      const read = comparePositions(cursor, again) < 0 ? readHanded : readOutbox;
      const reading = read(redis, { shard, after: cursor, count: limit });
      // Answered after the entries, in the same round trip.
      const [raw, handedUpTo] = await Promise.all([reading, readHandedPosition(redis, shard)]);
      // Another persister handed over more, so entries in between are missing from the outbox, whatever the cursor says
      // by now.
      if (read === readOutbox && comparePositions(handedUpTo, cursor) > 0) return stored;
      // The kept entries were removed meanwhile; the next call finds out.
      if (raw.length === 0 && read === readHanded) return stored;
      if (raw.length === 0) {
        // Entries that a crash between COMMIT and trimming left.
        if (first) await trimOutbox(redis, shard, cursor, this.keep);
        this.pauses.caughtUp(shard);
        return stored;
      }
      await gate?.acknowledgementOf?.(shard)?.wait();
      let progress: Progress | null;
      try {
        progress = await this.store(shard, cursor, storageEpoch, raw);
      } catch (error) {
        if (!isAboutData(error)) throw error;
        if (raw.length > 1) {
          suspects = raw.length;
          continue;
        }
        progress = await this.setAside(shard, cursor, storageEpoch, raw[0]!);
      }
      // Another persister is working. It reads again after its COMMIT, so it will find everything.
      if (progress === null) return stored;
      cursor = progress.position;
      stored += raw.length;
      suspects = Math.max(0, suspects - raw.length);
      count = entriesFor(raw);
      if (raw.length < limit)
        await this.pauses.afterBatch(shard, { readMs, shards: this.atWork.size, mayBeLong: progress.mayPause }, hurry);
    }
    return stored;
  }

  /** Stores one batch. Returns `null` if another persister is working, with nothing stored. */
  private async store(
    shard: number,
    after: string,
    storageEpoch: string | undefined,
    raw: RawEntry[],
  ): Promise<Progress | null> {
    const { redis, pool, traces = null, onStep } = this.options;
    await onStep?.('read', shard);
    const batch = toBatch(raw);
    const beforeCommit = onStep && (() => onStep('written', shard));
    let reported: Reported | undefined;
    let begunMs: number;
    for (let tries = 1; ; tries += 1) {
      reported = await this.reportOf(shard, batch, tries);
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
    const isReported = (reported?.report.notifications.length ?? 0) > 0;
    if (isReported) this.options.onReported?.();
    if (batch.merge !== null) this.options.onMerged?.();
    await this.trim(shard, batch.position);
    return { position: batch.position, mayPause: batch.events.length >= MANY_EVENTS && !isReported };
  }

  private async reportOf(shard: number, { entries }: Batch, tries: number): Promise<Reported | undefined> {
    const { reporter } = this.options;
    if (reporter === undefined) return undefined;
    const report = (await reporter.prepare(shard, entries)).reportOf(entries);
    return { reporter, report, isFinal: tries === MOST_REPORTS };
  }

  private async setAside(
    shard: number,
    after: string,
    storageEpoch: string | undefined,
    raw: RawEntry,
  ): Promise<Progress | null> {
    const { redis, pool, reporter, onStep, onSetAside } = this.options;
    const step = onStep && ((step: PersistStep) => onStep(step, shard));
    const aside = await storeDamaged(pool, { redis, shard, after, storageEpoch, raw, reporter, onStep: step });
    if (aside === false) return null;
    if (aside !== 'stored') onSetAside?.(aside);
    if (reporter !== undefined) this.options.onReported?.();
    const position = raw[0].toString('latin1');
    await this.trim(shard, position);
    return { position, mayPause: false };
  }

  private async trim(shard: number, position: string): Promise<void> {
    const { redis, onStored, onStep } = this.options;
    await onStep?.('committed', shard);
    onStored?.(shard);
    await trimOutbox(redis, shard, position, this.keep);
    await onStep?.('trimmed', shard);
  }
}

/** Starts a trace of its own: a span cannot belong to several traces. */
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

/** How many entries of this size make a batch. */
function entriesFor(raw: readonly RawEntry[]): number {
  let bytes = 0;
  for (const [, fields] of raw) for (const field of fields) bytes += field.length;
  return Math.max(1, Math.min(MAX_ENTRIES, Math.floor((MAX_BYTES * raw.length) / Math.max(bytes, 1))));
}
