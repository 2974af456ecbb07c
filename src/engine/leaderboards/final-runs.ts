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
  type EndedRun,
  runsToClear,
} from '../../postgres/boards/final-runs.ts';
import { oweClosings } from '../../postgres/boards/league-closings.ts';
import { type BoardProgress, boardsInProgress, lockProgress, moveProgress } from '../../postgres/boards/progress.ts';
import { oweRewards } from '../../postgres/boards/rank-rewards.ts';
import { isUniqueViolation, transaction } from '../../postgres/transaction.ts';
import { beforeNaming } from '../../postgres/users/stored-states.ts';
import { withTimeLimit } from '../../pacing/time-limit.ts';
import { whileWhole } from '../persist/cursor-wait.ts';
import type { Pieces } from '../schedule/pieces.ts';
import { boardKeyOf, boardPiece, boardPieces, readyBoards } from './board-pieces.ts';
import { clearRun, groupsOfRun } from './runs.ts';
import { withMetadata } from './shown-rankings.ts';
import { LiveStandings } from './live-standings.ts';
import { ranked } from './standings.ts';
import { teamScores, type TeamScore } from './teams.ts';

/** The last step done for an ended run. */
export type FinalStep = CopyStep | 'cleared';

interface FinalRunsOptions {
  redis: Redis;
  pool: Pool;
  /** The boards whose work failed; default: a set of its own. */
  pieces?: Pieces;
  /** Called after each step, so that tests can stop there. */
  onStep?: (step: FinalStep) => void | Promise<void>;
  /** Not needed under the test clock, since all processes show its time before work is done. */
  graceMs?: number;
}

/** Delay before a final run is copied: calls are retried for 2 s, and clocks differ. */
export const GRACE_MS = 10_000;
/** Further delay before the run's sorted sets are removed from Redis. Readers that began there have finished long before. */
const CLEAR_MS = 60_000;
const MOST_CLEARED = 100;
/** Runs without scores in a transaction. */
const MOST_EMPTY = 400;
/** After this time `perform` leaves the rest to the next call. */
const LONG_MS = 15_000;

/**
 * Copies the standings of final runs from Redis to Postgres (`copyRun`). A run that is declared final is read from
 * Postgres; some time later its sorted sets are removed from Redis. The users' own scores in it are removed with their
 * next event (`ensureScore` in `src/rules/leaderboards.ts`). A board whose run fails is set aside; the others go on. A board that is
 * still being filled from history is skipped.
 */
export function createFinalRuns(options: FinalRunsOptions) {
  const { pool, redis, onStep } = options;
  const name = 'final runs of leaderboards';
  const pieces: Pieces = options.pieces ?? boardPieces(name);
  const graceMs: number = options.graceMs ?? GRACE_MS;

  async function due(upToMs: number): Promise<number | null> {
    return first(readyBoards(await boardsInProgress(pool), pieces), upToMs);
  }

  /** The same as `due`, for boards that were already looked up. */
  async function first(boards: readonly BoardProgress[], upToMs: number): Promise<number | null> {
    const [toClear] = await readRunsToClear(upToMs, 1);
    const times = boards.map((progress) => finalMs(progress));
    if (toClear !== undefined) times.push(toClear.finalMs + graceMs + CLEAR_MS);
    const earliest = Math.min(...times);
    return earliest <= upToMs ? earliest : null;
  }

  /** The schedule has applied everything accepted before, including batches, and stored it in Postgres. */
  async function perform(dueMs: number, ending: AbortSignal): Promise<void> {
    if (await upTo(() => dueMs, ending)) await clear(dueMs, ending);
  }

  /** Declares runs final that end by a time, which may differ for each board. Returns false if it was aborted. */
  async function upTo(lastMs: (progress: BoardProgress) => number, called: AbortSignal): Promise<boolean> {
    const ending = withTimeLimit(called, LONG_MS);
    const isDue = (progress: BoardProgress): boolean => finalMs(progress) <= lastMs(progress);
    const boards = readyBoards(await boardsInProgress(pool), pieces);
    for (const progress of boards.filter(isDue)) {
      for (let at: BoardProgress | null = progress; at !== null && isDue(at);) {
        if (ending.aborted) return false;
        const from: BoardProgress = at;
        const piece = boardPiece(from, overRun(from)!.run.runDay);
        const finished: { value: BoardProgress | null } | undefined = await pieces.attempt(piece, ending, (signal) =>
          finish(from, lastMs(from), signal),
        );
        at = finished?.value ?? null;
      }
    }
    return !ending.aborted;
  }

  /** The time (epoch ms) at which a board's next run is to be declared final; Infinity if never. */
  function finalMs(progress: BoardProgress): number {
    return (overRun(progress)?.run.finalMs ?? Infinity) + graceMs;
  }

  /** Declares a board's next run final, or all next empty ones. Returns its progress; `null`: aborted. */
  async function finish(progress: BoardProgress, lastMs: number, ending: AbortSignal): Promise<BoardProgress | null> {
    const over = overRun(progress)!;
    const empty = await whileWhole(pool, { redis, tenantNo: progress.tenantNo }, () => emptyRuns(progress, lastMs));
    if (empty.length > 0) await finishEmpty(empty);
    else if (!(await copyRun(options, over, ending))) return null;
    return { ...progress, nextRunDay: (empty.at(-1) ?? over).nextRunDay };
  }

  /** The next runs of a board that are final by a time, as long as nobody has a score in them. */
  async function emptyRuns(progress: BoardProgress, lastMs: number): Promise<Over[]> {
    const empty: Over[] = [];
    for (let over = overRun(progress); over !== null && over.run.finalMs + graceMs <= lastMs;) {
      for (const group of await groupsOfRun(redis, over.board, over.run))
        if ((await new LiveStandings(redis, { ...over.run, group }, over.board).page(0, 1)).length > 0) return empty;
      if ((await teamsOf(redis, over.board, over.run)).length > 0) return empty;
      empty.push(over);
      if (empty.length === MOST_EMPTY) return empty;
      over = overRun({ ...progress, nextRunDay: over.nextRunDay });
    }
    return empty;
  }

  async function finishEmpty(runs: readonly Over[]): Promise<void> {
    const first = runs[0]!;
    const last = runs.at(-1)!;
    const { tenantNo, boardNo, runDay } = first.run;
    await transaction(pool, async (client) => {
      // Another worker may have finished them.
      if (!(await lockProgress(client, { tenantNo, boardNo, runDay }))) return;
      await addEmptyRuns(
        client,
        runs.map(({ run }) => run),
      );
      await oweClosings(
        client,
        { tenantNo, boardNo },
        runs.map(({ run }) => run.runDay),
      );
      await moveProgress(client, {
        tenantNo,
        boardNo,
        runDay: last.nextRunDay,
        snapshotDay: last.run.lastDay + 1,
      });
    });
  }

  /** Removes the sorted sets of final runs that may be removed by a time from Redis. */
  async function clear(lastMs: number, ending: AbortSignal): Promise<void> {
    for (const { id, groups, ...run } of await readRunsToClear(lastMs, MOST_CLEARED)) {
      if (ending.aborted) return;
      if (pieces.isAside(boardKeyOf(run))) continue;
      await pieces.attempt(boardPiece(run, run.runDay), ending, async () => {
        await clearRun(redis, run, groups);
        await noteCleared(pool, id);
        // What changes wrote meanwhile that did not know of it (`beside-clearing.ts`).
        await clearRun(redis, run, groups);
        await onStep?.('cleared');
      });
    }
  }

  function readRunsToClear(upToMs: number, limit: number): ReturnType<typeof runsToClear> {
    const finalUpToMs = upToMs - graceMs - CLEAR_MS;
    return runsToClear(
      pool,
      finalUpToMs,
      limit,
      pieces.aside.map(({ key }) => key),
    );
  }

  return { name, due, first, perform, upTo, finalMs, clear };
}

export type FinalRuns = ReturnType<typeof createFinalRuns>;

/** The progress of copying a run. */
type CopyStep = 'begun' | 'written' | 'copied' | 'finished';

interface CopyRunOptions {
  redis: Redis;
  pool: Pool;
  /** Called after each step, so that tests can stop there. */
  onStep?: (step: CopyStep) => void | Promise<void>;
}

interface Copying extends Over {
  runId: number;
  group: string;
}

/** Members in a transaction: about 2 ms of Redis. */
const CHUNK = 5_000;

/**
 * Copies the standings of an ended run from Redis to Postgres and declares it final. Each chunk's transaction stores
 * the progress, so that after a crash nobody is copied twice or left out. Returns false if it was aborted.
 */
async function copyRun(options: CopyRunOptions, over: Over, ending: AbortSignal): Promise<boolean> {
  const { redis, pool, onStep } = options;
  const { board, run, nextRunDay } = over;
  const { tenantNo, boardNo, runDay, lastDay } = run;
  const runId = await beginRun(pool, run);
  await onStep?.('begun');
  for (const group of await whileWhole(pool, { redis, tenantNo }, () => groupsOfRun(redis, board, run))) {
    let isMore = true;
    while (isMore) {
      if (ending.aborted) return false;
      isMore = await copyChunkAgain(options, { ...over, runId, group });
      if (isMore) await onStep?.('copied');
    }
  }
  await transaction(pool, async (client) => {
    // Another worker may have finished it.
    if (!(await lockProgress(client, { tenantNo, boardNo, runDay }))) return;
    const teams = await whileWhole(client, { redis, tenantNo }, () => teamsOf(redis, board, run));
    await finishRun(client, runId, teams);
    await oweRewards(client, runId);
    await oweClosings(client, { tenantNo, boardNo }, [runDay]);
    await moveProgress(client, { tenantNo, boardNo, runDay: nextRunDay, snapshotDay: lastDay + 1 });
  });
  await onStep?.('finished');
  return true;
}

/** The ranked teams of a run; none of a board without teams. */
const teamsOf = async (redis: Redis, board: Leaderboard, run: EndedRun): Promise<TeamScore[]> =>
  board.teamAttributeId === null ? [] : teamScores(redis, board, run);

/** Copies the next members of a group. Returns false after the last ones. */
async function copyChunk({ redis, pool, onStep }: CopyRunOptions, copying: Copying): Promise<boolean> {
  const { board, run, runId, group } = copying;
  const live = new LiveStandings(redis, { ...run, group }, board);
  return transaction(pool, async (client) => {
    const copied = await lockGroup(client, runId, group);
    if (copied.isDone) return false;
    await beforeNaming(client, run.tenantNo);
    const before = (await lastCopied(client, copied)) ?? undefined;
    const members = await whileWhole(client, { redis, tenantNo: run.tenantNo }, async () =>
      withMetadata(
        redis,
        { ...run, board },
        await ranked(live, await live.page(copied.members, CHUNK), { from: copied.members, before }),
      ),
    );
    const participants = members.filter(({ rank }) => rank <= (board.maxParticipants ?? Infinity)).length;
    await addMembers(client, run.tenantNo, copied, { members, participants, isDone: members.length < CHUNK });
    await onStep?.('written');
    return members.length === CHUNK;
  });
}

/** As `copyChunk`, but copies the group again if it changed after its end. */
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

interface Over {
  board: Leaderboard;
  run: EndedRun;
  /** The first day of the following run; `null` if there is none. */
  nextRunDay: number | null;
}

/** A board's oldest run that is not final; `null` if there is none, or if it has no end. */
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
