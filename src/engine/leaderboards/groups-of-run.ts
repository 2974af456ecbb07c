import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { boardGroupsKey } from '../../redis/keys.ts';
import type { BoardRun } from './past-runs.ts';

/** The groups of a run in which anybody has or had a score; '' of a board without a breakdown. */
export async function groupsOfRun(redis: Redis, board: Leaderboard, run: BoardRun): Promise<string[]> {
  if (board.breakdownAttributes.length === 0) return [''];
  return (await redis.smembers(boardGroupsKey(run.tenantNo, run))).sort();
}
