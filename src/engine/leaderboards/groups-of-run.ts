import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { boardGroupsKey, boardKey } from '../../redis/keys.ts';
import type { BoardRun } from './past-runs.ts';

/** The groups of a run in which anybody has or had a score; '' of a board without a breakdown. */
export async function groupsOfRun(redis: Redis, board: Leaderboard, run: BoardRun): Promise<string[]> {
  if (board.breakdownAttributes.length === 0) return [''];
  return (await redis.smembers(boardGroupsKey(run.tenantNo, run))).sort();
}

/** Takes the sorted sets of a run out of Redis: those of the groups named and of those it lists. */
export async function clearRun(redis: Redis, run: BoardRun, groups: readonly string[]): Promise<void> {
  const listed = await redis.smembers(boardGroupsKey(run.tenantNo, run));
  const keys = [...new Set([...groups, ...listed])].map((group) => boardKey(run.tenantNo, { ...run, group }));
  await redis.unlink(boardGroupsKey(run.tenantNo, run), ...keys);
}
