import { Catalogs } from '../../../src/catalog/catalogs.ts';
import { type ClosingStep, createLeagueClosing } from '../../../src/engine/leaderboards/league-closing.ts';
import { createLeagueReports } from '../../../src/engine/leaderboards/league-reports.ts';
import { Publisher } from '../../../src/engine/notifications/due/publisher.ts';
import type { BoardsByTheClock } from './boards-by-the-clock.ts';

/**
 * Declares runs final, closes their leagues and reports moves. `onStep` may throw, as if the worker died. Returns messages of failures.
 */
export async function closeLeagues(boards: BoardsByTheClock, onStep?: (step: ClosingStep) => void): Promise<unknown[]> {
  await boards.due();
  const { redis, pool } = boards.laurel;
  const catalogs = new Catalogs(pool);
  const failures: unknown[] = [];
  const publisher = new Publisher({ redis, pool, catalogs });
  const onFailed = ({ error }: { error: unknown }): void => void failures.push((error as Error).message);
  const works = [
    createLeagueClosing({ publisher, onFailed, ...(onStep && { onStep }) }),
    createLeagueReports(redis, publisher, onFailed),
  ];
  const nowMs = boards.clock.now();
  try {
    for (const work of works)
      for (;;) {
        const dueMs = await work.due(nowMs);
        if (dueMs === null) break;
        await work.perform(dueMs, new AbortController().signal, nowMs + 1, nowMs);
      }
  } finally {
    catalogs.close();
  }
  return failures;
}
