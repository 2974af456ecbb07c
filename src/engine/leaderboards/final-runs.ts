import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { addEmptyRuns, noteCleared, runsToClear } from '../../postgres/boards/final-runs.ts';
import { boardsInProgress, lockProgress, moveProgress, type BoardProgress } from '../../postgres/boards/progress.ts';
import { transaction } from '../../postgres/transaction.ts';
import { boardKey } from '../../redis/keys.ts';
import type { DueWork } from '../schedule/due-work.ts';
import { copyRun, type CopyStep } from './copy-run.ts';
import { filledBoards } from './filled-boards.ts';
import { clearRun, groupsOfRun } from './groups-of-run.ts';
import { overRun, type Over } from './over-run.ts';

/** What was done last with a run that is over. */
export type FinalStep = CopyStep | 'cleared';

export interface FinalRunsOptions {
  redis: Redis;
  pool: Pool;
  /** Called after each step: for tests, which stop the world there. */
  onStep?: (step: FinalStep) => void | Promise<void>;
  /** Under the test clock, which all processes show before work is done, none is needed. */
  graceMs?: number;
}

/**
 * A run is copied so long after it is final: an event of just before may still be on its way into Redis, as calls
 * are retried for 2 s, and machines' clocks differ.
 */
const GRACE_MS = 10_000;
/** And so long after that its sorted sets leave Redis: who began to read there has long finished. */
const CLEAR_MS = 60_000;
const MOST_CLEARED = 100;
/** Runs that nobody is in, in a transaction. */
const MOST_EMPTY = 400;
/** Then `perform` leaves the rest to the next call. */
const LONG_MS = 15_000;

/**
 * Takes the standings of runs that are final from Redis into Postgres (`copyRun`). Once a run is declared final it is
 * read from Postgres; a while later its sorted sets leave Redis. The users' own scores of it go with their next event
 * (`lua/lib/score_slot.lua`).
 */
export class FinalRuns implements DueWork {
  readonly name = 'final runs of leaderboards';
  private readonly options: FinalRunsOptions;
  private readonly graceMs: number;

  constructor(options: FinalRunsOptions) {
    this.options = options;
    this.graceMs = options.graceMs ?? GRACE_MS;
  }

  async due(upToMs: number): Promise<number | null> {
    return this.first(await boardsInProgress(this.options.pool), upToMs);
  }

  /** As `due`, of boards that were looked up. */
  async first(boards: readonly BoardProgress[], upToMs: number): Promise<number | null> {
    const [toClear] = await runsToClear(this.options.pool, {
      finalUpToMs: upToMs - this.graceMs - CLEAR_MS,
      limit: 1,
    });
    const times = boards.map(overRun).flatMap((over) => (over === null ? [] : [over.run.finalMs + this.graceMs]));
    if (toClear !== undefined) times.push(toClear.finalMs + this.graceMs + CLEAR_MS);
    const earliest = Math.min(...times);
    return earliest <= upToMs ? earliest : null;
  }

  /** The schedule sees to it that what was accepted before is applied, batches included, and stands in Postgres. */
  async perform(dueMs: number, ending: AbortSignal): Promise<void> {
    if (await this.upTo(() => dueMs, ending)) await this.clear(dueMs, ending);
  }

  /** Declares the runs final that are so by a time, one for each board; false: it was called off. */
  async upTo(lastMs: (progress: BoardProgress) => number, called: AbortSignal): Promise<boolean> {
    const ending = AbortSignal.any([called, AbortSignal.timeout(LONG_MS)]);
    const isDue = (progress: BoardProgress): boolean =>
      (overRun(progress)?.run.finalMs ?? Infinity) + this.graceMs <= lastMs(progress);
    for (const progress of await filledBoards(this.options.pool, isDue, called)) {
      for (let at = progress; isDue(at);) {
        const over = overRun(at)!;
        if (ending.aborted) return false;
        const empty = await this.emptyRuns(at, lastMs(at));
        if (empty.length > 0) await this.finishEmpty(empty);
        else if (!(await copyRun(this.options, over, ending))) return false;
        at = { ...at, nextRunDay: (empty.at(-1) ?? over).nextRunDay };
      }
    }
    return !ending.aborted;
  }

  /** The first of a board's runs that are final by a time, as long as nobody has a score in them. */
  private async emptyRuns(progress: BoardProgress, lastMs: number): Promise<Over[]> {
    const { redis } = this.options;
    const empty: Over[] = [];
    for (let over = overRun(progress); over !== null && over.run.finalMs + this.graceMs <= lastMs;) {
      for (const group of await groupsOfRun(redis, over.board, over.run))
        if ((await redis.exists(boardKey(over.run.tenantNo, { ...over.run, group }))) > 0) return empty;
      empty.push(over);
      if (empty.length === MOST_EMPTY) return empty;
      over = overRun({ ...progress, nextRunDay: over.nextRunDay });
    }
    return empty;
  }

  /** Declares runs of a board final that nobody is in. */
  private async finishEmpty(runs: readonly Over[]): Promise<void> {
    const first = runs[0]!;
    const last = runs.at(-1)!;
    const { tenantNo, boardNo, runDay } = first.run;
    await transaction(this.options.pool, async (client) => {
      // Somebody else may have finished them.
      if (!(await lockProgress(client, { tenantNo, boardNo, runDay }))) return;
      await addEmptyRuns(
        client,
        runs.map(({ run }) => run),
      );
      await moveProgress(client, {
        tenantNo,
        boardNo,
        runDay: last.nextRunDay,
        snapshotDay: last.run.lastDay + 1,
      });
    });
  }

  /** Takes the sorted sets of final runs out of Redis that may go by a time. */
  async clear(lastMs: number, ending: AbortSignal): Promise<void> {
    const { redis, pool, onStep } = this.options;
    const finalUpToMs = lastMs - this.graceMs - CLEAR_MS;
    const runs = await runsToClear(pool, { finalUpToMs, limit: MOST_CLEARED });
    for (const { id, groups, ...run } of runs) {
      if (ending.aborted) return;
      await clearRun(redis, run, groups);
      await noteCleared(pool, id);
      await onStep?.('cleared');
    }
  }
}
