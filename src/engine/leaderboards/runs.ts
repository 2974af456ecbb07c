import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import type { BoardRun } from '../../domain/runs.ts';
import type { RankRewardRow } from '../../postgres/boards/rank-rewards.ts';
import { boardGroupsKey, boardKey, teamsKey } from '../../redis/keys.ts';
import { tenantParts } from '../../redis/parts.ts';
import type { Member, Standings } from './standings.ts';
import type { TeamScore } from './teams.ts';

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

/** The stored results of boards: final standings and daily snapshots. */
export interface PastRuns {
  /** The final standings of a run and group; `null` if the run is not final, so that the scores in Redis count. */
  standings(run: BoardRun, group: string): Promise<Standings | null>;
  /** The final scores of those of some users who have one, in any group if it is `null`; `null` if the run is not final. */
  scores(run: BoardRun, group: string | null, userIds: readonly string[]): Promise<Member[] | null>;
  /** The ranked teams of a final run; `null` if the run is not final. */
  teams(run: BoardRun): Promise<TeamScore[] | null>;
  /** The group in which a user ended a final run; `null` if in none. */
  groupOf(run: BoardRun, userId: string): Promise<string | null>;
  /** A user's last `count` daily snapshots in a run, oldest first. Those of a final run end with its final place. */
  snapshots(run: BoardRun, userId: string, count: number): Promise<Snapshot[]>;
  places(tenantNo: number, userId: string): Promise<PastPlace[]>;
  /** What those of some users who were rewarded got in a final run, by user ID. */
  rewards(run: BoardRun, userIds: readonly string[]): Promise<ReadonlyMap<string, UserReward>>;
  /** Those of the runs that are final. */
  kept<T extends { boardNo: number; runDay: number }>(tenantNo: number, runs: readonly T[]): Promise<Set<T>>;
}

/** Without stored results: runs are readable while Redis holds them, and the history consists of the current day. */
export const NO_PAST: PastRuns = {
  standings: async () => null,
  scores: async () => null,
  teams: async () => null,
  groupOf: async () => null,
  snapshots: async () => [],
  places: async () => [],
  rewards: async () => new Map(),
  kept: async () => new Set(),
};

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
