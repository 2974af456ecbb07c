/** Past runs, and the groups of a run. */
import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { boardGroupsKey, boardKey } from '../../redis/keys.ts';
import type { Standings } from './standings.ts';

/** One run of a board. */
export interface BoardRun {
  tenantNo: number;
  boardNo: number;
  /** First day of the run (epoch day). */
  runDay: number;
}

/** A user's place at the end of a day of a run; null: not on the board. */
export interface Snapshot {
  /** Epoch day. */
  day: number;
  /** Epoch ms at which it was taken. */
  atMs: number;
  rank: number | null;
  value: number | null;
}

/** How a user ended a final run. */
export interface PastPlace {
  boardNo: number;
  runDay: number;
  /** Null: not on the board. */
  rank: number | null;
  value: number;
}

/** What is kept of boards besides the scores that events still move: final standings and daily snapshots. */
export interface PastRuns {
  /** The standings of a run and group as they are kept; null: not kept (yet), the scores in Redis are the truth. */
  standings(run: BoardRun, group: string): Promise<Standings | null>;
  /** The group in which a user ended a run that is kept; null: in none. */
  groupOf(run: BoardRun, userId: string): Promise<string | null>;
  /** A user's last `count` daily snapshots in a run, oldest first; the last day's of a run that is kept is its end. */
  snapshots(run: BoardRun, userId: string, count: number): Promise<Snapshot[]>;
  /** How a user ended all runs that are kept. */
  places(tenantNo: number, userId: string): Promise<PastPlace[]>;
  /** Those of some runs that are kept. */
  kept<T extends { boardNo: number; runDay: number }>(tenantNo: number, runs: readonly T[]): Promise<Set<T>>;
}

/** Where nothing is kept: runs are readable while Redis holds them, and history is the current day. */
export const NO_PAST: PastRuns = {
  standings: async () => null,
  groupOf: async () => null,
  snapshots: async () => [],
  places: async () => [],
  kept: async () => new Set(),
};

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
