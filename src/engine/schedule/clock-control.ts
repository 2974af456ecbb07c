import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { systemClock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import { AppError } from '../../errors.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import { usedShards } from '../../postgres/shards.ts';
import {
  countFollowers,
  noteWork,
  readClock,
  readClockWork,
  releaseClock,
  setClock,
  type StoredClock,
  switchedOnWaits,
} from '../../postgres/test-clock.ts';
import { transaction } from '../../postgres/transaction.ts';
import { batchWaits, newestBatch, readBatchProgress, shardsWithBatches } from '../../redis/batches.ts';
import { shardsWithEntries } from '../../redis/outbox.ts';
import { publishSignal } from '../../redis/signals.ts';
import { isPersisted } from '../persist/cursor-wait.ts';
import type { PassOutcome, Schedule } from './schedule.ts';
import type { TestClock } from './test-clock.ts';
import { inOwnTurn } from '../../pacing/turns.ts';
import { isoTimeOrNull } from '../../domain/periods.ts';

const FIRST_MS = 10;
const LAST_MS = 100;
/** A wait may end later than possible by at most this fraction of its duration. */
const LATER = 0.2;

/** Pauses that grow with the time waited. */
class GrowingPauses {
  private readonly beganMs = performance.now();

  /** Resolves after the next pause: 10 to 100 ms. */
  async next(): Promise<void> {
    const waitedMs = performance.now() - this.beganMs;
    await inOwnTurn(sleep(Math.min(LAST_MS, Math.max(FIRST_MS, waitedMs * LATER))));
  }
}

interface ClockControlOptions {
  pool: Pool;
  redis: Redis;
  clock: TestClock;
  /** How long a call waits without a worker, without progress, or while work fails, before it gives up (ms). */
  patienceMs?: number | undefined;
}

const PATIENCE_MS = 10_000;
/** How long a call waits for storage that makes progress (ms). */
const STORING_MS = 30_000;
/** How often a call waits for events that were accepted during an earlier wait. */
const ROUNDS = 3;
const NOT_STORED = 'Not all accepted events are stored yet; the clock is unchanged. Try again in a moment';

export function createClockControl(options: ClockControlOptions) {
  const { clock, pool, redis } = options;

  function currentMs(): number {
    return clock.now();
  }

  /**
   * Stops the clock at a time. First completes backdating and filling of activated achievements and boards, and stores
   * every event accepted before the call, so that its reports have the time at which it happened. Resolves when every
   * live process shows the new time and the work due up to it is done. Throws 422 for a time before the current one;
   * 503 if no worker lives, or events are not stored in time (the clock then stays unchanged, unless the last worker
   * dies afterwards), or if work fails repeatedly (it is done once the cause is repaired).
   */
  async function set(nowMs: number, by: Author): Promise<void> {
    await workerLives();
    await switchedOn();
    for (let round = 0; round < ROUNDS && (await storeAccepted()); round += 1);
    const set = await audited(by, new Date(nowMs).toISOString(), (client) =>
      setClock(client, { nowMs, realMs: systemClock.now() }),
    );
    if (set === null)
      throw new AppError(
        'unprocessable',
        `now is before ${new Date(currentMs()).toISOString()}: time does not go back`,
      );
    await publish(set.version);
    await done(set.version);
  }

  /** Returns to real time. `by`: who asks for it, as for `set`. Resolves when every live process shows it. */
  async function release(by: Author): Promise<void> {
    const released = await audited(by, null, releaseClock);
    if (released !== null) await publish(released.version);
  }

  /** Sets the clock together with an entry in the audit log. `now`: the new time; `null` for real time. */
  function audited(
    by: Author,
    now: string | null,
    work: (client: PoolClient) => Promise<StoredClock | null>,
  ): Promise<StoredClock | null> {
    return transaction(pool, async (client) => {
      const { nowMs } = await readClock(client);
      const before = { now: isoTimeOrNull(nowMs) };
      const stored = await work(client);
      const entry = { action: 'update', kind: 'clock', before, after: { now } } as const;
      if (stored !== null) await writeAudit(client, { tenantNo: null, nowMs: clock.now(), by, entries: [entry] });
      return stored;
    });
  }

  async function workerLives(): Promise<void> {
    const { pool, patienceMs = PATIENCE_MS } = options;
    const endMs = performance.now() + patienceMs;
    const pauses = new GrowingPauses();
    while ((await countFollowers(pool, 0)).workers === 0) {
      if (performance.now() > endMs) {
        throw new AppError('unavailable', 'No worker is running to do the due work; the clock is unchanged');
      }
      await pauses.next();
    }
  }

  /** Resolves when backdating and filling are finished, or after a while. */
  async function switchedOn(): Promise<void> {
    const { pool, patienceMs = PATIENCE_MS } = options;
    const endMs = performance.now() + patienceMs;
    const pauses = new GrowingPauses();
    while ((await switchedOnWaits(pool)) && performance.now() < endMs) await pauses.next();
  }

  /** Waits until everything accepted before is in Postgres. False: there was nothing. Throws 503. */
  async function storeAccepted(): Promise<boolean> {
    const { redis, pool, patienceMs = PATIENCE_MS } = options;
    const used = await usedShards(pool);
    const queued = await shardsWithBatches(redis, used);
    await Promise.all(queued.map((shard) => processBatches(shard)));
    const shards = await shardsWithEntries(redis, used);
    const patience = { stillMs: patienceMs, movingMs: STORING_MS };
    const stored = await Promise.all(shards.map((shard) => isPersisted({ redis, pool }, shard, patience)));
    if (stored.includes(false)) throw new AppError('unavailable', NOT_STORED);
    return queued.length + shards.length > 0;
  }

  /** Resolves when a shard's current batches are processed, so that their effects are in the outbox. */
  async function processBatches(shard: number): Promise<void> {
    const { redis, patienceMs = PATIENCE_MS } = options;
    const upTo = await newestBatch(redis, shard);
    if (upTo === null) return;
    const endMs = performance.now() + STORING_MS;
    let [progress, movedMs] = ['', performance.now()];
    const pauses = new GrowingPauses();
    while (await batchWaits(redis, shard, upTo)) {
      const seen = await readBatchProgress(redis, shard);
      const nowMs = performance.now();
      if (seen !== progress) [progress, movedMs] = [seen, nowMs];
      if (nowMs - movedMs > patienceMs || nowMs > endMs) throw new AppError('unavailable', NOT_STORED);
      await pauses.next();
    }
  }

  /** Resolves when every live process has this version. A process that stops answering counts as gone after 5 s. */
  async function publish(version: number): Promise<void> {
    await publishSignal(redis, 'clock', String(version));
    await clock.refresh();
    const pauses = new GrowingPauses();
    while ((await countFollowers(pool, version)).behind > 0) await pauses.next();
  }

  async function done(version: number): Promise<void> {
    const { pool, patienceMs = PATIENCE_MS } = options;
    let wellMs = performance.now();
    const pauses = new GrowingPauses();
    for (;;) {
      const { doneVersion, problem, isWorkerLive } = await readClockWork(pool);
      if (doneVersion >= version) return;
      if (isWorkerLive && problem === null) wellMs = performance.now();
      if (performance.now() - wellMs > patienceMs) {
        const why = problem ?? 'no worker is running';
        throw new AppError('unavailable', `The clock is set, but not all due work is done: ${why}`);
      }
      await pauses.next();
    }
  }

  return { nowMs: currentMs, set, release };
}

/** A pass under the test clock, once every live process shows the new time. Stores the outcome for the request. */
export async function clockPass(
  pool: Pool,
  clock: TestClock,
  schedule: Pick<Schedule, 'pass'>,
  ending: AbortSignal,
): Promise<PassOutcome> {
  const { version } = clock;
  const pauses = new GrowingPauses();
  while (!ending.aborted && (await countFollowers(pool, version)).behind > 0) await pauses.next();
  const outcome = await schedule.pass(ending);
  // The clock was set again meanwhile; the end of this pass says nothing about the later time.
  if (clock.version !== version) return { state: 'more' };
  if (outcome.state === 'done') await noteWork(pool, version, null);
  if (outcome.state === 'held up') await noteWork(pool, version, outcome.by);
  return outcome;
}
