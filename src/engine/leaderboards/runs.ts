import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import type { BoardRun } from '../../domain/runs.ts';
import type { RankRewardRow } from '../../postgres/boards/rank-rewards.ts';
import { boardGroupsKey, boardKey, teamsKey } from '../../redis/keys.ts';
import { tenantParts } from '../../redis/parts.ts';

/** A user's place at the end of a day of a run; `null` if the user was not on the board. */
export interface Snapshot {
  /** Epoch day. */
  day: number;
  /** When it was taken (epoch ms). */
  atMs: number;
  rank: number | null;
  value: number | null;
}

/** What a user got for a rank: points by number of the points system, and numbers of achievements. */
export type UserReward = Pick<RankRewardRow, 'points' | 'achievements'>;

export interface PastPlace {
  boardNo: number;
  runDay: number;
  /** `null` if the user was not on the board. */
  rank: number | null;
  value: number;
}

/** The groups of a run in which anybody has or had a score; only '' on a board without a breakdown. */
export async function groupsOfRun(redis: Redis, board: Leaderboard, run: BoardRun): Promise<string[]> {
  if (board.breakdownAttributes.length === 0) return [''];
  return [...(await listedGroups(redis, run))].sort();
}

/** Removes the sorted sets of a run from Redis: those of the given groups, and those of the groups that the run lists. */
export async function clearRun(redis: Redis, run: BoardRun, groups: readonly string[]): Promise<void> {
  const all = new Set([...groups, ...(await listedGroups(redis, run))]);
  for (const part of tenantParts(redis, run.tenantNo))
    await redis.unlink(
      boardGroupsKey(part, run),
      teamsKey(part, run),
      ...Array.from(all, (group) => boardKey(part, { ...run, group })),
    );
}

async function listedGroups(redis: Redis, run: BoardRun): Promise<Set<string>> {
  const listed = tenantParts(redis, run.tenantNo).map((part) => redis.smembers(boardGroupsKey(part, run)));
  return new Set((await Promise.all(listed)).flat());
}
