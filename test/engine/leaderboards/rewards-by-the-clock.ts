import { Catalogs } from '../../../src/catalog/catalogs.ts';
import { BoardsDue } from '../../../src/engine/leaderboards/boards-due.ts';
import type { RankRewardsOptions } from '../../../src/engine/leaderboards/rank-rewards.ts';
import type { BoardsByTheClock } from './boards-by-the-clock.ts';

export type RewardStep = Parameters<NonNullable<RankRewardsOptions['onRewardStep']>>[0];

/**
 * What leaderboards have due, done by the schedule's worker. Returns the messages of failures. `onRewardStep` may throw, as if the worker
 * died.
 */
export async function rewardRanks(
  boards: BoardsByTheClock,
  onRewardStep?: RankRewardsOptions['onRewardStep'],
): Promise<unknown[]> {
  const { redis, pool } = boards.laurel;
  const catalogs = new Catalogs(pool);
  const failures: unknown[] = [];
  // What failed is tried again after a moment, which a worker that died does not do.
  const died = new AbortController();
  const work = new BoardsDue({
    redis,
    pool,
    catalogs,
    onWritten: () => undefined,
    onFailed: ({ error }) => {
      failures.push((error as Error).message);
      died.abort();
    },
    ...(onRewardStep && { onRewardStep }),
  });
  try {
    while (!died.signal.aborted) {
      const nowMs = boards.clock.now();
      const dueMs = await work.due(nowMs);
      if (dueMs === null) break;
      await work.perform(dueMs, died.signal, nowMs + 1, nowMs);
    }
  } finally {
    catalogs.close();
  }
  await boards.store();
  return failures;
}
