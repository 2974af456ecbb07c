/** Removes leaderboards' sorted sets in Redis that nothing needs any longer. */
import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { DAY_MS, epochDay } from '../../domain/periods.ts';
import { playedRule, runsFrom } from '../../domain/runs.ts';
import {
  boardsInProgress,
  type DeadBoard,
  forgetBoard,
  noteSwept,
  straySets,
  unclearedRuns,
} from '../../postgres/boards/progress.ts';
import { repliesOf } from '../../redis/commands.ts';
import { connectionOf, scanServers } from '../../redis/endpoints.ts';
import { boardGroupsKey, boardKey, boardOfKey, BOARDS_PATTERN, type TenantPart } from '../../redis/keys.ts';
import { type Boards, createBoardsOfTenants, type BoardsOfTenants } from '../rebuild/derived-keys.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';
import { type OnPieceFailed, type Pieces, tenantPiece } from '../schedule/pieces.ts';
import { boardKeyOf, boardPiece, boardPieces } from './board-pieces.ts';
import { addTo } from '../../grouped.ts';

/** Keys in a step: about 0.3 ms of Redis. */
const KEYS_A_STEP = 1_000;
const PAUSE_MS = 1;
/** Approximate maximum duration of a piece of work. */
const WORK_MS = 2_000;
/** Time of the daily scan (UTC). Runs that ended the day before are final and cleared by then. */
const TIME_OF_DAY_MS = 13 * 3_600_000;

/**
 * Removes sorted sets that nobody reads any longer from Redis: sets of boards that were deleted or changed what they
 * score, at once; and sets that very late events created again, for such boards or for ended runs. Scans all keys in
 * steps, once a day and when a board is deleted. A crash restarts the scan.
 */
export class StraySets implements ScheduledWork {
  readonly name = 'sets of deleted boards';
  readonly isUpkeep = true;
  private readonly redis: Redis;
  private readonly pool: Pool;
  /** Deleted boards that could not be removed, and tenants whose boards could not be read. */
  private readonly pieces: Pieces;
  /**
   * The progress of a scan, and the deleted boards of which nothing is left at its end. Each scan reads the boards again: with those
   * of the scan before, the boards that were deleted in between would not count as deleted.
   */
  private at: { cursor: string; dead: DeadBoard[]; boards: BoardsOfTenants } | null = null;

  constructor({ redis, pool, onFailed }: { redis: Redis; pool: Pool; onFailed?: OnPieceFailed }) {
    this.pieces = boardPieces(this.name, onFailed);
    this.redis = redis;
    this.pool = pool;
  }

  get aside(): string[] {
    return this.pieces.aside.map(({ name }) => name);
  }

  async due(upToMs: number): Promise<number | null> {
    const { dead, sweptDay } = await straySets(this.pool);
    return this.notAside(dead).length > 0 ? upToMs : dailyMs(sweptDay, upToMs);
  }

  async upcoming(untilMs: number): Promise<number | null> {
    return dailyMs((await straySets(this.pool)).sweptDay, untilMs);
  }

  async perform(dueMs: number, ending: AbortSignal): Promise<void> {
    const endMs = performance.now() + WORK_MS;
    this.at ??= {
      cursor: '0',
      dead: this.notAside((await straySets(this.pool)).dead),
      boards: createBoardsOfTenants(this.pool),
    };
    const { at, redis } = this;
    do {
      if (ending.aborted || performance.now() > endMs) return;
      const [next, keys] = await scanServers(redis, at.cursor, { match: BOARDS_PATTERN, count: KEYS_A_STEP });
      const stray = await this.strayOf(keys, at.boards, ending);
      // All keys of a step are on one server.
      if (stray.length > 0) await redis.unlink(...stray);
      at.cursor = next;
      // Let events go first.
      if (next !== '0') await sleep(PAUSE_MS);
    } while (at.cursor !== '0');
    for (const board of at.dead)
      await this.pieces.attempt(boardPiece(board), ending, () => forgetBoard(this.pool, board));
    await noteSwept(this.pool, dayBefore(dueMs));
    this.at = null;
  }

  private notAside(dead: readonly DeadBoard[]): DeadBoard[] {
    return dead.filter((board) => !this.pieces.isAside(boardKeyOf(board)));
  }

  /** Those of the keys that are stray. None of a tenant whose boards cannot be read; the next day's scan finds them. */
  private async strayOf(keys: readonly string[], boards: BoardsOfTenants, ending: AbortSignal): Promise<string[]> {
    const byTenant = new Map<number, string[]>();
    for (const key of keys) {
      const tenantNo = boardOfKey(key)?.tenantNo;
      if (tenantNo === undefined) continue;
      addTo(byTenant, tenantNo, key);
    }
    const stray: string[] = [];
    for (const [tenantNo, own] of byTenant) {
      const piece = tenantPiece(tenantNo);
      if (this.pieces.isAside(piece.key)) continue;
      const outcome = await this.pieces.attempt(piece, ending, () => this.strayOfTenant(own, boards));
      stray.push(...(outcome?.value ?? []));
    }
    return stray;
  }

  private async strayOfTenant(keys: readonly string[], boards: BoardsOfTenants): Promise<string[]> {
    const stray: string[] = [];
    for (const key of keys) {
      if (await this.isStray(key, (tenantNo) => boards.of(tenantNo))) stray.push(key);
    }
    // A board may be newer than the cached list, but not newer than its keys.
    const fresh = createBoardsOfTenants(this.pool);
    const certain: string[] = [];
    for (const key of stray) if (await this.isStray(key, (tenantNo) => fresh.of(tenantNo))) certain.push(key);
    return certain;
  }

  private async isStray(key: string, boardsOf: (tenantNo: number) => Promise<Boards>): Promise<boolean> {
    const of = boardOfKey(key);
    if (of === null) return false;
    const board = (await boardsOf(of.tenantNo)).get(of.boardNo);
    return board === undefined || board.cleared.has(of.runDay);
  }
}

/** When a day's scan is due, up to a time (epoch ms); `null` if it is done. */
function dailyMs(sweptDay: number | null, upToMs: number): number | null {
  const day = dayBefore(upToMs);
  return sweptDay === null || sweptDay < day ? day * DAY_MS + TIME_OF_DAY_MS : null;
}

/** The last day (epoch day) whose scan is due. */
const dayBefore = (ms: number): number => epochDay(ms - TIME_OF_DAY_MS);

/**
 * The keys of the sorted sets of a tenant's part in Redis: all runs that are not cleared, regardless of members. Some may not
 * exist. Excludes those of deleted boards, which `StraySets` removes. The cost does not depend on the number of users.
 */
export async function setsOfBoards(redis: Redis, pool: Pool, clock: Clock, part: TenantPart): Promise<string[]> {
  const { tenantNo } = part;
  // The latest local date anywhere, and one more day for clocks that differ.
  const newest = epochDay(clock.now()) + 2;
  const [boards, uncleared] = await Promise.all([boardsInProgress(pool, tenantNo), unclearedRuns(pool, tenantNo)]);
  // Those that are not final.
  const open = boards.flatMap(({ board, nextRunDay }) =>
    nextRunDay === null
      ? []
      : Array.from(runsFrom(playedRule(board), nextRunDay, newest), (run) => ({
          boardNo: board.no,
          runDay: run.startDay,
        })),
  );
  const runs = [...open, ...uncleared];
  const pipeline = connectionOf(redis, part.shard).pipeline();
  for (const run of runs) pipeline.smembers(boardGroupsKey(part, run));
  const sets = new Set<string>();
  for (const [index, groups] of (await repliesOf<string[][]>(pipeline)).entries())
    for (const group of ['', ...groups]) sets.add(boardKey(part, { ...runs[index]!, group }));
  return [...sets];
}
