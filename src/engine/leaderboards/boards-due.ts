import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { boardsInProgress } from '../../postgres/boards/progress.ts';
import type { DueWork } from '../schedule/due-work.ts';
import { DailySnapshots, firstSnapshotMs } from './daily-snapshots.ts';
import { FinalRuns } from './final-runs.ts';

/**
 * What the clock does to leaderboards: daily snapshots, and runs that become final. Neither moves a score, so while no
 * other kind has anything to do, all snapshots are taken first, of the same standings, and then the runs are declared
 * final: a year in which nothing happens is a few statements a board.
 */
export class BoardsDue implements DueWork {
  readonly name = 'snapshots and final runs of leaderboards';
  readonly seesItself = true;
  private readonly pool: Pool;
  private readonly snapshots: DailySnapshots;
  private readonly finals: FinalRuns;

  /** `graceMs`: see `FinalRuns`. */
  constructor(options: { redis: Redis; pool: Pool; graceMs?: number }) {
    this.pool = options.pool;
    this.snapshots = new DailySnapshots(options);
    this.finals = new FinalRuns(options);
  }

  async due(upToMs: number): Promise<number | null> {
    const boards = await boardsInProgress(this.pool);
    const finalMs = await this.finals.first(boards, upToMs);
    const earliest = Math.min(finalMs ?? Infinity, firstSnapshotMs(boards));
    return earliest <= upToMs ? earliest : null;
  }

  async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
    const lastMs = Math.max(dueMs, beforeMs - 1);
    if ((await this.snapshots.due(lastMs)) !== null) await this.snapshots.perform(dueMs, ending, beforeMs);
    // A run's snapshots come before its sorted sets go.
    if ((await this.snapshots.due(lastMs)) === null) await this.finals.perform(dueMs, ending, beforeMs);
  }
}
