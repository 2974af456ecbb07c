/** Makes runs that ended final: copies them to Postgres and clears them. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Leaderboard } from '../../domain/catalog.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import {
  addEmptyRuns,
  addMembers,
  beginRun,
  dropMembers,
  finishRun,
  lastCopied,
  lockGroup,
  noteCleared,
  type OverRun,
  runsToClear,
} from '../../postgres/boards/final-runs.ts';
import { type BoardProgress, boardsInProgress, lockProgress, moveProgress } from '../../postgres/boards/progress.ts';
import { isUniqueViolation, transaction } from '../../postgres/transaction.ts';
import { beforeNaming } from '../../postgres/users/stored-states.ts';
import { boardKey, shardOf } from '../../redis/keys.ts';
import { whileWhole } from '../persist/cursor-wait.ts';
import type { DueWork } from '../schedule/due-work.ts';
import type { Pieces } from '../schedule/pieces.ts';
import { boardKeyOf, boardPiece, boardPieces, readyBoards } from './board-pieces.ts';
import { clearRun, groupsOfRun } from './runs.ts';
import { LiveStandings, ranked } from './standings.ts';

/** What was done last with an ended run. */
export type FinalStep = CopyStep | 'cleared';

interface FinalRunsOptions {
  redis: Redis;
  pool: Pool;
  /** The boards whose work failed; its own by default. */
  pieces?: Pieces;
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
 * (`lua/lib/board_scores.lua`). A board whose run fails is set aside, and the others go on; so is one, in silence, that is
 * still being filled from history.
 */
export class FinalRuns implements DueWork {
  readonly name = 'final runs of leaderboards';
  private readonly options: FinalRunsOptions;
  private readonly pieces: Pieces;
  private readonly graceMs: number;

  constructor(options: FinalRunsOptions) {
    this.options = options;
    this.pieces = options.pieces ?? boardPieces(this.name);
    this.graceMs = options.graceMs ?? GRACE_MS;
  }

  async due(upToMs: number): Promise<number | null> {
    return this.first(readyBoards(await boardsInProgress(this.options.pool), this.pieces), upToMs);
  }

  /** As `due`, of boards that were looked up. */
  async first(boards: readonly BoardProgress[], upToMs: number): Promise<number | null> {
    const [toClear] = await this.toClear(upToMs, 1);
    const times = boards.map((progress) => this.finalMs(progress));
    if (toClear !== undefined) times.push(toClear.finalMs + this.graceMs + CLEAR_MS);
    const earliest = Math.min(...times);
    return earliest <= upToMs ? earliest : null;
  }

  /** The schedule sees to it that what was accepted before is applied, batches included, and stored in Postgres. */
  async perform(dueMs: number, ending: AbortSignal): Promise<void> {
    if (await this.upTo(() => dueMs, ending)) await this.clear(dueMs, ending);
  }

  /** Declares the runs final that are so by a time, one for each board; false: it was called off. */
  async upTo(lastMs: (progress: BoardProgress) => number, called: AbortSignal): Promise<boolean> {
    const ending = AbortSignal.any([called, AbortSignal.timeout(LONG_MS)]);
    const isDue = (progress: BoardProgress): boolean => this.finalMs(progress) <= lastMs(progress);
    const boards = readyBoards(await boardsInProgress(this.options.pool), this.pieces);
    for (const progress of boards.filter(isDue)) {
      for (let at: BoardProgress | null = progress; at !== null && isDue(at);) {
        if (ending.aborted) return false;
        const from: BoardProgress = at;
        const piece = boardPiece(from, overRun(from)!.run.runDay);
        const finished: { value: BoardProgress | null } | undefined = await this.pieces.attempt(
          piece,
          ending,
          (signal) => this.finish(from, lastMs(from), signal),
        );
        at = finished?.value ?? null;
      }
    }
    return !ending.aborted;
  }

  /** When the next run of a board is to be declared final, epoch ms; Infinity: none ever is. */
  finalMs(progress: BoardProgress): number {
    return (overRun(progress)?.run.finalMs ?? Infinity) + this.graceMs;
  }

  /** Declares a board's next run final, or those next ones that nobody is in; where it is then. Null: it was called off. */
  private async finish(progress: BoardProgress, lastMs: number, ending: AbortSignal): Promise<BoardProgress | null> {
    const { redis, pool } = this.options;
    const over = overRun(progress)!;
    const shard = shardOf(progress.tenantNo);
    const empty = await whileWhole(pool, { redis, shard }, () => this.emptyRuns(progress, lastMs));
    if (empty.length > 0) await this.finishEmpty(empty);
    else if (!(await copyRun(this.options, over, ending))) return null;
    return { ...progress, nextRunDay: (empty.at(-1) ?? over).nextRunDay };
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
    for (const { id, groups, ...run } of await this.toClear(lastMs, MOST_CLEARED)) {
      if (ending.aborted) return;
      if (this.pieces.isAside(boardKeyOf(run))) continue;
      await this.pieces.attempt(boardPiece(run, run.runDay), ending, async () => {
        await clearRun(redis, run, groups);
        await noteCleared(pool, id);
        await onStep?.('cleared');
      });
    }
  }

  private toClear(upToMs: number, limit: number): ReturnType<typeof runsToClear> {
    const finalUpToMs = upToMs - this.graceMs - CLEAR_MS;
    return runsToClear(this.options.pool, { finalUpToMs, limit, except: this.pieces.aside.map(({ key }) => key) });
  }
}

/** How far the copying of a run has come. */
type CopyStep = 'begun' | 'written' | 'copied' | 'finished';

interface CopyRunOptions {
  redis: Redis;
  pool: Pool;
  /** Called after each step: for tests, which stop the world there. */
  onStep?: (step: CopyStep) => void | Promise<void>;
}

/** A group of a run that is begun in Postgres. */
interface Copying extends Over {
  runId: number;
  group: string;
}

/** Members a transaction: Redis gives them in about 2 ms. */
const CHUNK = 5_000;

/**
 * Copies the standings of an ended run from Redis into Postgres and declares it final: chunk by chunk, each in a
 * transaction that notes how far it came, so that whatever crashes nobody is copied twice or left out.
 * False: we are to end before that.
 */
async function copyRun(options: CopyRunOptions, over: Over, ending: AbortSignal): Promise<boolean> {
  const { redis, pool, onStep } = options;
  const { board, run, nextRunDay } = over;
  const { tenantNo, boardNo, runDay, lastDay } = run;
  const runId = await beginRun(pool, run);
  await onStep?.('begun');
  const shard = shardOf(tenantNo);
  for (const group of await whileWhole(pool, { redis, shard }, () => groupsOfRun(redis, board, run))) {
    let isMore = true;
    while (isMore) {
      if (ending.aborted) return false;
      isMore = await copyChunkAgain(options, { ...over, runId, group });
      if (isMore) await onStep?.('copied');
    }
  }
  await transaction(pool, async (client) => {
    // Somebody else may have finished it.
    if (!(await lockProgress(client, { tenantNo, boardNo, runDay }))) return;
    await finishRun(client, runId);
    await moveProgress(client, { tenantNo, boardNo, runDay: nextRunDay, snapshotDay: lastDay + 1 });
  });
  await onStep?.('finished');
  return true;
}

/** Copies the next members of a group. False: those were the last. */
async function copyChunk({ redis, pool, onStep }: CopyRunOptions, copying: Copying): Promise<boolean> {
  const { board, run, runId, group } = copying;
  const live = new LiveStandings(redis, boardKey(run.tenantNo, { ...run, group }), board.maxParticipants);
  return transaction(pool, async (client) => {
    const copied = await lockGroup(client, runId, group);
    if (copied.isDone) return false;
    await beforeNaming(client, run.tenantNo);
    const before = (await lastCopied(client, copied)) ?? undefined;
    const members = await whileWhole(client, { redis, shard: shardOf(run.tenantNo) }, async () =>
      ranked(live, await live.page(copied.members, CHUNK), { from: copied.members, before }),
    );
    const participants = members.filter(({ rank }) => rank <= (board.maxParticipants ?? Infinity)).length;
    await addMembers(
      client,
      { tenantNo: run.tenantNo, group: copied },
      { members, participants, isDone: members.length < CHUNK },
    );
    await onStep?.('written');
    return members.length === CHUNK;
  });
}

/** As `copyChunk`; a group that moved all the same, so that somebody would be in it twice, is begun again. */
async function copyChunkAgain(options: CopyRunOptions, copying: Copying): Promise<boolean> {
  try {
    return await copyChunk(options, copying);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    await transaction(options.pool, async (client) =>
      dropMembers(client, await lockGroup(client, copying.runId, copying.group)),
    );
    return true;
  }
}

/** A run with its board, ended or not yet. */
interface Over {
  board: Leaderboard;
  run: OverRun;
  /** The first day of the run after it; null: there is none. */
  nextRunDay: number | null;
}

/** The oldest run of a board that is not final; null: there is none, or it has no end. */
function overRun({
  tenantNo,
  board,
  nextRunDay: runDay,
}: {
  tenantNo: number;
  board: Leaderboard;
  nextRunDay: number | null;
}): Over | null {
  if (runDay === null) return null;
  const rule = playedRule(board);
  const endDay = runOf(rule, runDay)?.endDay ?? null;
  if (endDay === null) return null;
  return {
    board,
    run: { tenantNo, boardNo: board.no, runDay, lastDay: endDay, finalMs: finalMs(endDay) },
    nextRunDay: runOf(rule, endDay + 1)?.startDay ?? null,
  };
}
