import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { boardsInProgress, type BoardProgress } from '../../postgres/boards/progress.ts';

const LOOK_MS = 100;
/** A board that was just switched on is filled in this time, unless there are many users. */
const PATIENCE_MS = 10_000;

/**
 * The boards that `isDue` names, when they are filled from history. Rejects where one is not after a while, so that
 * work of other kinds goes on meanwhile.
 */
export async function filledBoards(
  pool: Pool,
  isDue: (progress: BoardProgress) => boolean,
  ending: AbortSignal,
): Promise<BoardProgress[]> {
  const endMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const boards = (await boardsInProgress(pool)).filter(isDue);
    const filling = boards.find(({ isFilling }) => isFilling);
    if (filling === undefined || ending.aborted) return ending.aborted ? [] : boards;
    if (performance.now() > endMs) throw new Error(`The leaderboard '${filling.board.key}' is still being filled.`);
    await sleep(LOOK_MS);
  }
}
