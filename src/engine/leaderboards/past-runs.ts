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

/** What is kept of boards besides the scores that events still move: final standings and daily snapshots. */
export interface PastRuns {
  /** The standings of a run and group as they are kept; null: not kept (yet), the scores in Redis are the truth. */
  standings(run: BoardRun, group: string): Promise<Standings | null>;
  /** The group in which a user ended a run that is kept; null: in none. */
  groupOf(run: BoardRun, userId: string): Promise<string | null>;
  /** A user's last `count` daily snapshots in a run, oldest first. */
  snapshots(run: BoardRun, userId: string, count: number): Promise<Snapshot[]>;
}

/** Where nothing is kept: runs are readable while Redis holds them, and history is the current day. */
export const NO_PAST: PastRuns = {
  standings: async () => null,
  groupOf: async () => null,
  snapshots: async () => [],
};
