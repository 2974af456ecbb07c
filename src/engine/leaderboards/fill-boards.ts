import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { compileBoard } from '../../catalog/compile/boards.ts';
import { compileCatalog, type CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { usersAfter } from '../../postgres/users/users-after.ts';
import { beginFill, isFillWaiting, lockFill, nextFill, noteFill, type BoardFill } from '../../postgres/boards/fills.ts';
import { historySums } from '../../postgres/boards/history-sums.ts';
import { putPastScores, rankPastScores } from '../../postgres/boards/past-scores.ts';
import { loadCatalog } from '../../postgres/load-catalog.ts';
import { transaction } from '../../postgres/transaction.ts';
import { boardKeyPrefix, outboxKey, shardOf, userKey } from '../../redis/keys.ts';
import type { Script } from '../../redis/script.ts';
import { decodeState } from '../../packed/state.ts';
import { isPersisted } from '../persisted/persisted.ts';
import { Pieces, userPiece, type OnPieceFailed } from '../schedule/pieces.ts';
import { boardPiece } from './board-pieces.ts';
import { boardHistory, offsetsOf, pastRuns, type BoardHistory } from './board-history.ts';
import { clearRun } from './groups-of-run.ts';
import { pastScores, summed, type SummedUser } from './summed-users.ts';

export interface FillOptions {
  redis: Redis;
  pool: Pool;
  /** `lua/fill_board.lua`. */
  script: Script;
  clock: Clock;
  /** Tells that entries were written to the outbox of a shard. */
  onWritten: (shard: number) => void;
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
/** A user whose events cannot be distinguished from those of the past is summed up again this often, and then left out. */
const TRIES = 50;

const KIND = 'filling of leaderboards';
/** The last step ranks all that the board ever had. */
const PATIENCE_MS = 600_000;
const NEVER = new AbortController().signal;
const NOT_PERSISTED = 'What was written before is not stored yet.';

interface Filling {
  compiled: CompiledCatalog;
  board: Leaderboard;
  history: BoardHistory;
  fill: BoardFill;
}

/**
 * Fills boards from history: what users earned since the board's first day, by their local dates, before it was
 * switched on. Requests are rows of Postgres; each step is a transaction that notes how far it came. Scores are set as
 * they follow from history, not added, so a crash that repeats a step changes nothing. Runs that are past become
 * readable as final ones at the end.
 */
export class BoardFilling {
  private readonly options: FillOptions;
  private readonly pieces: Pieces;

  constructor(options: FillOptions) {
    this.options = options;
    this.pieces = new Pieces({ kind: KIND, onFailed: options.onFailed, patienceMs: PATIENCE_MS });
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
    const { scored, done } = await this.fill({ compiled, board, history, fill }, users);
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

  /** Gives users their scores in open runs; how many have any, and those whose scores in past runs are to be put. */
  private async fill(
    filling: Filling,
    users: readonly { id: string; state: Buffer }[],
  ): Promise<{ scored: number; done: SummedUser[] }> {
    const all: SummedUser[] = [];
    if (users.length === 0 || filling.history.runDays.length === 0) return { scored: 0, done: all };
    const scored = new Set<string>();
    let waiting = users;
    for (let tries = 0; waiting.length > 0; tries += 1) {
      // What came meanwhile is summed up when it is stored.
      if (tries > 0) await sleep(100);
      if (tries === TRIES) {
        this.leaveOut(filling.fill, waiting);
        break;
      }
      const sums = await this.sums(filling, waiting);
      const outcomes = await this.call(
        filling,
        sums.filter(({ open }) => open !== null),
      );
      const again = new Set(sums.filter(({ id }) => outcomes.get(id) === -1).map(({ id }) => id));
      const done = sums.filter(({ id }) => !again.has(id));
      for (const { id, past } of done) if (past.length > 0 || outcomes.get(id) === 1) scored.add(id);
      all.push(...done);
      waiting = waiting.filter(({ id }) => again.has(id));
    }
    return { scored: scored.size, done: all };
  }

  /** Nobody waits longer for users who never stop to change: they have what they earn from now on. */
  private leaveOut({ tenantNo, boardNo }: BoardFill, users: readonly { id: string }[]): void {
    const error = new Error('The user changes all the time: what was earned before is left out.');
    for (const { id } of users)
      this.options.onFailed?.({ kind: KIND, piece: userPiece(tenantNo, id, { boardNo }), error });
  }

  private async sums(
    { board, history, fill }: Filling,
    users: readonly { id: string; state: Buffer }[],
  ): Promise<SummedUser[]> {
    const { counted, runDays, lastDay, window } = history;
    const { tenantNo, openRunDay } = fill;
    const first = runDays[0]!;
    const rows =
      counted === null
        ? users.map(({ id, state }) => ({ id, state, sums: [[first, 0, 0]] as [number, number, number][] }))
        : await historySums(this.options.pool, {
            tenantNo,
            ids: users.map(({ id }) => id),
            counted,
            runDays,
            lastDay,
            times: window && {
              ...window,
              offsets: offsetsOf(
                users.map(({ id, state }) => ({ userId: id, tz: decodeState(state).tz })),
                { fromDay: first, nowMs: this.options.clock.now() },
              ),
            },
          });
    return rows.map((row) => summed(row, { boardNo: board.no, openRunDay }));
  }

  /** Sets the scores of open runs. By user: 1 has one now, 0 none, -1 to be summed up again. */
  private async call(
    { compiled, board, history, fill }: Filling,
    users: readonly SummedUser[],
  ): Promise<Map<string, number>> {
    if (users.length === 0) return new Map();
    const { redis, script, clock, onWritten } = this.options;
    const { tenantNo } = fill;
    const nowMs = clock.now();
    const shard = shardOf(tenantNo);
    const { plan } = compiled.userPlan(Math.floor(nowMs / DAY_MS));
    const days = [plan.firstDay, plan.firstDay + 1, plan.firstDay + 2];
    const metric = compiled.metricsById.get(board.metricId ?? '') ?? null;
    const filled = { ...plan, board: compileBoard(compiled, board, { metric, days }), counts: metric?.no };
    const keys = [outboxKey(shard), ...users.map(({ id }) => userKey(tenantNo, id))];
    const args: (string | number | Buffer)[] = [nowMs, tenantNo, JSON.stringify(filled), boardKeyPrefix(tenantNo)];
    for (const { id, state, open } of users) args.push(id, history.counted === null ? '' : state, JSON.stringify(open));
    const replies = (await script.run(redis, keys, args)) as (number | Buffer)[];
    if (String(replies[users.length]) !== '') onWritten(shard);
    return new Map(users.map(({ id }, index) => [id, replies[index] as number]));
  }
}
