import type { Redis } from 'ioredis';
import { DAY_MS } from '../../../domain/periods.ts';
import { finalMs, playedRule, runOf, type Run } from '../../../domain/runs.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import { boardsInProgress } from '../../../postgres/boards/progress.ts';
import {
  boardsToCompare,
  followBoards,
  forgetBoardsOf,
  type MovedBoard,
} from '../../../postgres/notifications/places.ts';
import { beginProgress, endProgress, notificationProgress } from '../../../postgres/notifications/progress.ts';
import { wantingTenants } from '../../../postgres/notifications/announcements.ts';
import { readOrganisation } from '../../../postgres/organisation.ts';
import { groupsOfRun } from '../../leaderboards/groups-of-run.ts';
import type { ScheduledWork } from '../../schedule/due-work.ts';
import { Pieces, type OnPieceFailed, type Piece } from '../../schedule/pieces.ts';
import { BoardRankings } from './board-rankings.ts';
import { comparePlaces } from './compare-places.ts';
import type { Publisher } from './publisher.ts';

export interface PlacesOptions {
  publisher: Publisher;
  redis: Redis;
  /** Called when a board's places cannot be compared. */
  onFailed?: OnPieceFailed;
}

/** Tenants whose boards are followed have a progress of this kind. */
const KIND = 'places';
/** Boards that are looked up at a time. */
const AT_ONCE = 100;
/** A piece of work takes not much longer than this. */
const WORK_MS = 2_000;

const boardPiece = ({ tenantNo, boardNo }: { tenantNo: number; boardNo: number }): Piece => ({
  key: `${tenantNo}:${boardNo}`,
  name: `leaderboard no. ${boardNo} of tenant ${tenantNo}`,
  detail: { tenantNo, boardNo },
});

/**
 * Ranks that change because others' do: within 15 minutes of a change on a board its places (the first 1,000 of one without a
 * maximum) are compared with what was reported, and who has another rank is reported, also one who fell off the board. When a
 * tenant's first webhook wants it, places are read as they are then.
 */
export class Places implements ScheduledWork {
  readonly name = 'places on leaderboards';
  readonly seesItself = true;
  private readonly options: PlacesOptions;
  private readonly rankings: BoardRankings;
  private readonly pieces: Pieces;

  constructor(options: PlacesOptions) {
    this.options = options;
    this.rankings = new BoardRankings(options.redis);
    this.pieces = new Pieces({ kind: this.name, onFailed: options.onFailed });
  }

  get aside(): string[] {
    return this.pieces.aside.map(({ name }) => name);
  }

  async due(upToMs: number): Promise<number | null> {
    const { begun, ended } = await this.followed();
    return begun.length + ended.length > 0 ? upToMs : this.upcoming(upToMs);
  }

  async upcoming(untilMs: number): Promise<number | null> {
    return (await this.toCompare(untilMs, 1))[0]?.compareMs ?? null;
  }

  async perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void> {
    await this.follow(upToMs);
    const endMs = performance.now() + WORK_MS;
    const moved = await this.toCompare(Math.max(dueMs, beforeMs - 1), AT_ONCE);
    if (moved.length === 0) return;
    const { controlShare } = await readOrganisation(this.options.publisher.pool);
    const versions = new Map((await this.wanting()).map(({ tenantNo, version }) => [tenantNo, version]));
    for (const board of moved) {
      if (ending.aborted || performance.now() > endMs) return;
      await this.pieces.attempt(boardPiece(board), ending, async () => {
        const { publisher } = this.options;
        const compiled = await publisher.catalog(board.tenantNo, versions.get(board.tenantNo) ?? 0);
        const comparing = { rankings: this.rankings, compiled, controlShare, nowMs: upToMs };
        await publisher.publish(compiled, upToMs, (client) => comparePlaces(client, board, comparing));
      });
    }
  }

  private toCompare(upToMs: number, limit: number): Promise<MovedBoard[]> {
    const except = this.pieces.aside.map(({ key }) => key);
    return boardsToCompare(this.options.publisher.pool, { upToMs, except, limit });
  }

  private wanting(): ReturnType<typeof wantingTenants> {
    return wantingTenants(this.options.publisher.pool, ['leaderboard.rank_changed']);
  }

  /** The tenants whose boards are to be followed from now on, and those whose are not any more. */
  private async followed(): Promise<{ begun: number[]; ended: number[] }> {
    const wanting = new Set((await this.wanting()).map(({ tenantNo }) => tenantNo));
    const progress = await notificationProgress(this.options.publisher.pool, [KIND]);
    const known = new Set(progress.map(({ tenantNo }) => tenantNo));
    return {
      begun: [...wanting].filter((tenantNo) => !known.has(tenantNo)),
      ended: [...known].filter((tenantNo) => !wanting.has(tenantNo)),
    };
  }

  private async follow(nowMs: number): Promise<void> {
    const { pool } = this.options.publisher;
    const { begun, ended } = await this.followed();
    const keyed = (tenantNo: number) => ({ tenantNo, kind: KIND, zone: '' });
    await forgetBoardsOf(pool, ended);
    await endProgress(pool, ended.map(keyed));
    for (const tenantNo of begun) {
      for (const { board } of await boardsInProgress(pool, tenantNo)) {
        for (const { startDay } of runsInPlay(board, nowMs)) {
          const run = { tenantNo, boardNo: board.no, runDay: startDay };
          const groups = await this.rankings.whole(pool, tenantNo, () => groupsOfRun(this.options.redis, board, run));
          const boards = groups.map((group) => ({ tenantNo, boardNo: board.no, runDay: startDay, group }));
          await followBoards(pool, boards, nowMs);
        }
      }
      await beginProgress(pool, [{ ...keyed(tenantNo), doneMs: nowMs }]);
    }
  }
}

/** The runs of a board that somebody's local day is in, or that are not final. */
function runsInPlay(board: Leaderboard, nowMs: number): Run[] {
  const rule = playedRule(board);
  const utcDay = Math.floor(nowMs / DAY_MS);
  const runs = [-2, -1, 0, 1].flatMap((shift) => runOf(rule, utcDay + shift) ?? []);
  const distinct = new Map(runs.map((run) => [run.startDay, run]));
  return [...distinct.values()].filter(({ endDay }) => endDay === null || finalMs(endDay) > nowMs);
}
