import type { PoolClient } from 'pg';
import { compileCatalog } from '../../catalog/compiled-catalog.ts';
import { usersAfter } from '../../postgres/users/users-after.ts';
import { beginFill, isFillWaiting, lockFill, nextFill, noteFill, type BoardFill } from '../../postgres/boards/fills.ts';
import { putPastScores, rankPastScores } from '../../postgres/boards/past-scores.ts';
import { loadCatalog } from '../../postgres/load-catalog.ts';
import { transaction } from '../../postgres/transaction.ts';
import { shardOf } from '../../redis/keys.ts';
import { isPersisted } from '../persisted/persisted.ts';
import { Pieces, userPiece, type OnPieceFailed } from '../schedule/pieces.ts';
import { boardPiece } from './board-pieces.ts';
import { boardHistory, pastRuns } from './board-history.ts';
import { clearRun } from './groups-of-run.ts';
import { pastScores } from './summed-users.ts';
import { UserScores, type UserScoresOptions } from './user-scores.ts';

export interface FillOptions extends Omit<UserScoresOptions, 'onLeftOut'> {
  /** How old a request must be, so that every process works with the catalog that made it; ms. */
  settleMs?: number;
  /** Called when a step of a board fails, or a user has to be left out. */
  onFailed?: OnPieceFailed;
  /** Called when a step is done and not committed: for tests, which stop the world there. */
  onStep?: () => void | Promise<void>;
}

/** Every process has a new catalog in under a second, and a call made with the one before is retried for 2 s. */
const SETTLE_MS = 4_000;
/** Users a script call: 200 take about 4 ms of Redis, events wait no longer than that. */
const USERS_A_CALL = 200;

const KIND = 'filling of leaderboards';
/** The last step ranks all that the board ever had. */
const PATIENCE_MS = 600_000;
const NEVER = new AbortController().signal;
const NOT_PERSISTED = 'What was written before is not stored yet.';

/**
 * Fills boards from history: what users earned since the board's first day, by their local dates, before it was
 * switched on. Requests are rows of Postgres; each step is a transaction that notes how far it came. Scores are set as
 * they follow from history, not added, so a crash that repeats a step changes nothing. Runs that are past become
 * readable as final ones at the end.
 */
export class BoardFilling {
  private readonly options: FillOptions;
  private readonly pieces: Pieces;
  private readonly scores: UserScores;

  constructor(options: FillOptions) {
    this.options = options;
    this.pieces = new Pieces({ kind: KIND, onFailed: options.onFailed, patienceMs: PATIENCE_MS });
    this.scores = new UserScores({
      ...options,
      onLeftOut: ({ tenantNo, boardNo, userId }, error) =>
        options.onFailed?.({ kind: KIND, piece: userPiece(tenantNo, userId, { boardNo }), error }),
    });
  }

  /**
   * Works on one step of the oldest request. False: there is nothing to do. A board whose step fails is set aside for a
   * while, and the others go on.
   */
  async step(): Promise<boolean> {
    const except = this.pieces.aside.map(({ key }) => key);
    const next = await nextFill(this.options.pool, { settleMs: this.options.settleMs ?? SETTLE_MS, except });
    if (next === null) return false;
    await this.pieces.attempt(boardPiece(next), NEVER, () => this.stepOf(next));
    return true;
  }

  /** Whether any request is unfinished, also one that cannot be worked on at the moment. */
  waits(): Promise<boolean> {
    return isFillWaiting(this.options.pool);
  }

  /** Nothing is waited for in a transaction: what may wait comes first, and what was done is noted if it is still asked for. */
  private async stepOf(next: BoardFill): Promise<void> {
    const { pool, clock, onStep } = this.options;
    const { tenantNo, boardNo, lastUser: after } = next;
    const catalog = await loadCatalog(pool, tenantNo);
    const compiled = catalog === null ? null : compileCatalog(catalog);
    const board = compiled?.leaderboardsByNo.get(boardNo);
    if (compiled === null || board === undefined || board.status === 'inactive') {
      await this.ifAsSeen(next, async (client) => {
        await rankPastScores(client, { ...next, max: null }, []);
        await noteFill(client, next, { lastUser: '', users: 0, scored: 0, end: true });
      });
      return;
    }
    const fill = next.status === 'waiting' ? await this.begin(next) : next;
    if (fill === null) return;
    const history = boardHistory(compiled, board, clock.now());
    const users = await usersAfter(pool, { tenantNo, after, limit: USERS_A_CALL });
    const { scored, done } = await this.scores.set({ compiled, board, history, fill }, users);
    const end = users.length < USERS_A_CALL;
    await this.ifAsSeen(fill, async (client) => {
      await putPastScores(client, fill, pastScores(compiled, board, done));
      if (end) {
        const past = pastRuns(board, history, fill.openRunDay);
        await rankPastScores(client, { ...fill, max: board.maxParticipants }, past);
        // Of a board that was on before, and off when they ended.
        for (const { runDay } of past) await clearRun(this.options.redis, { ...fill, runDay }, ['']);
      }
      await noteFill(client, fill, { lastUser: users.at(-1)?.id ?? '', users: users.length, scored, end });
      await onStep?.();
    });
  }

  /** Null: another worker has begun it, or the board was edited meanwhile. */
  private async begin(next: BoardFill): Promise<BoardFill | null> {
    // Users from before the edit may not all be in Postgres yet.
    if (!(await isPersisted(this.options, shardOf(next.tenantNo)))) throw new Error(NOT_PERSISTED);
    let begun: BoardFill | null = null;
    await this.ifAsSeen(next, async (client) => {
      begun = { ...next, status: 'running', openRunDay: await beginFill(client, next) };
    });
    return begun;
  }

  /** Runs `work` in a transaction, with the request locked; not if that has moved. */
  private async ifAsSeen(seen: BoardFill, work: (client: PoolClient) => Promise<void>): Promise<void> {
    await transaction(this.options.pool, async (client) => {
      const now = await lockFill(client, seen);
      if (now === null || now.lastUser !== seen.lastUser || now.status !== seen.status) return;
      if (now.requested.getTime() === seen.requested.getTime()) await work(client);
    });
  }
}
