import type { Pool } from 'pg';
import { dayStartMs } from '../../domain/zone.ts';
import { type BoardProgress, boardsInProgress } from '../../postgres/boards/progress.ts';
import { zonesOf } from '../../postgres/streak-sweep.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';
import type { OnPieceFailed, Pieces } from '../schedule/pieces.ts';
import { boardPiece, boardPieces, readyBoards } from './board-pieces.ts';
import { DailySnapshots, firstSnapshotMs } from './daily-snapshots.ts';
import { createFinalRuns, type FinalRuns, GRACE_MS } from './final-runs.ts';
import { createRankRewards, type RankRewards, type RankRewardsOptions } from './rank-rewards.ts';

type BoardsDueOptions = Omit<RankRewardsOptions, 'pieces' | 'graceMs'> & {
  /** See `FinalRuns`. */
  graceMs?: number;
  onFailed?: OnPieceFailed;
};

/**
 * Scheduled work on leaderboards: daily snapshots, declaring runs final, and rewarding their ranks. The first two move no
 * score, so while no other scheduled work is due, all snapshots of unchanged standings are taken first and then the runs are
 * declared final; an idle year costs a few statements for each board. A board that no other work can move until then does not
 * wait for it; boards of points wait for the rewards of their tenant. A board whose work fails does not hold up the others.
 */
export class BoardsDue implements ScheduledWork {
  readonly name = 'snapshots and final runs of leaderboards';
  readonly seesItself = true;
  private readonly pool: Pool;
  /** Shared, because a run's snapshots must precede its end. */
  private readonly pieces: Pieces;
  private readonly snapshots: DailySnapshots;
  private readonly finals: FinalRuns;
  private readonly rewards: RankRewards;
  /** Boards with due work that waits for their filling. */
  private filling: string[] = [];

  constructor({ onFailed, graceMs = GRACE_MS, ...options }: BoardsDueOptions) {
    const { redis, pool } = options;
    this.pool = pool;
    this.pieces = boardPieces(this.name, onFailed);
    this.snapshots = new DailySnapshots({ redis, pool, pieces: this.pieces });
    this.finals = createFinalRuns({ redis, pool, graceMs, pieces: this.pieces });
    this.rewards = createRankRewards({ ...options, graceMs, pieces: this.pieces });
  }

  get aside(): string[] {
    return [...this.pieces.aside.map(({ name }) => name), ...this.filling];
  }

  async due(upToMs: number): Promise<number | null> {
    const boards = await boardsInProgress(this.pool);
    const dueMs = (progress: BoardProgress): number =>
      Math.min(firstSnapshotMs([progress]), this.finals.finalMs(progress));
    this.filling = boards
      .filter((progress) => progress.isFilling && dueMs(progress) <= upToMs)
      .map((progress) => `${boardPiece(progress).name}, which is being filled from history,`);
    return this.first(boards, upToMs);
  }

  async upcoming(untilMs: number): Promise<number | null> {
    return this.first(await boardsInProgress(this.pool), untilMs);
  }

  async perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void> {
    const swept = await this.sweptBefore();
    const freeMs = ({ board, tenantNo, isPaidForTime }: BoardProgress): number => {
      if (board.rankBy === 'streak') return Math.min((swept.get(tenantNo) ?? Infinity) - 1, upToMs);
      return isPaidForTime ? beforeMs - 1 : upToMs;
    };
    const rewardedMs = await this.firstRewards();
    const lastMs = (progress: BoardProgress): number =>
      Math.min(
        Math.max(dueMs, beforeMs - 1, freeMs(progress)),
        progress.board.rankBy === 'points' ? (rewardedMs.get(progress.tenantNo) ?? Infinity) : Infinity,
      );
    // A run's snapshots must be taken before its sorted sets are removed. A board whose snapshot failed may no longer be
    // set aside afterwards.
    if (!(await this.snapshots.upTo(lastMs, ending))) return;
    const hasSnapshots = (progress: BoardProgress): boolean => firstSnapshotMs([progress]) > lastMs(progress);
    await this.finals.upTo((progress) => (hasSnapshots(progress) ? lastMs(progress) : -Infinity), ending);
    await this.rewards.upTo(Math.max(dueMs, beforeMs - 1), ending);
    await this.finals.clear(Math.max(dueMs, upToMs), ending);
  }

  private async first(boards: readonly BoardProgress[], upToMs: number): Promise<number | null> {
    const ready = readyBoards(boards, this.pieces);
    const finalMs = await this.finals.first(ready, upToMs);
    const owing = (await this.rewards.owing()).map((run) => this.rewards.dueMs(run));
    const earliest = Math.min(finalMs ?? Infinity, firstSnapshotMs(ready), ...owing);
    return earliest <= upToMs ? earliest : null;
  }

  /** The first time (epoch ms) at which final ranks may be rewarded, by tenant in which any are. */
  private async firstRewards(): Promise<Map<number, number>> {
    const first = new Map<number, number>();
    const add = (tenantNo: number, atMs: number): void =>
      void first.set(tenantNo, Math.min(first.get(tenantNo) ?? Infinity, atMs));
    for (const run of await this.rewards.owing()) add(run.tenantNo, this.rewards.dueMs(run));
    for (const progress of readyBoards(await boardsInProgress(this.pool), this.pieces))
      if (progress.isRewarded) add(progress.tenantNo, this.finals.finalMs(progress));
    return first;
  }

  /** The first midnight (epoch ms) that may still move a streak board, by tenant with such boards. */
  private async sweptBefore(): Promise<Map<number, number>> {
    const boards = await boardsInProgress(this.pool);
    const tenants = new Set(boards.filter(({ board }) => board.rankBy === 'streak').map(({ tenantNo }) => tenantNo));
    const before = new Map<number, number>();
    if (tenants.size === 0) return before;
    for (const { tenantNo, zone, sweptDay } of await zonesOf(this.pool, [...tenants])) {
      const midnightMs = dayStartMs(zone === '' ? 'UTC' : zone, sweptDay + 1);
      before.set(tenantNo, Math.min(before.get(tenantNo) ?? Infinity, midnightMs));
    }
    return before;
  }
}
