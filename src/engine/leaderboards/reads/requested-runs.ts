import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Clock } from '../../../clock.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import type { BoardStatus } from '../../../domain/leaderboard.ts';
import { didYouMean } from '../../../domain/nearest.ts';
import { dateOf, dayOf, epochDay, isDate } from '../../../domain/periods.ts';
import { type BoardRun, type Run, boardStatus, playedRule, runFrom, runShownOn } from '../../../domain/runs.ts';
import type { AttributeFilter } from '../../../domain/user.ts';
import { dayIn } from '../../../domain/zone.ts';
import { AppError } from '../../../errors.ts';
import { visibleBoards } from '../../find-configured.ts';

/** A leaderboard and one of its runs. */
export interface RunOfBoard {
  board: Leaderboard;
  run: Run;
}

export const boardRunOf = ({ catalog }: CompiledCatalog, { board, run }: RunOfBoard): BoardRun => ({
  tenantNo: catalog.tenantNo,
  boardNo: board.no,
  runDay: run.startDay,
});

/** A page of the rankings of a leaderboard. */
export interface PageQuery {
  offset: number;
  limit: number;
  run?: string;
  userId?: string;
  userAttributes?: AttributeFilter;
  /** On a board with a breakdown, only the group of this user may be read; `null` allows all groups. */
  groupOf?: string | null;
}

/** Maximum number of rankings in an answer, since a board without a maximum may have a million. */
const MAX_LIMIT = 10_000;

/** Finds the leaderboard and the run that a request names. */
export function createRequestedRuns(clock: Clock) {
  function utcDay(): number {
    return epochDay(clock.now());
  }

  function statusOf(board: Leaderboard): BoardStatus | null {
    return boardStatus(board, utcDay());
  }

  /** Throws 404 for an unknown or inactive leaderboard. */
  function find(compiled: CompiledCatalog, key: string): { board: Leaderboard; status: BoardStatus } {
    const board = compiled.leaderboards.get(key);
    const status = board === undefined ? null : statusOf(board);
    if (board === undefined || status === null)
      throw new AppError('not_found', `Unknown leaderboard: there is none with the key '${key}'.`, {
        hint: didYouMean(key, visibleBoards(compiled, utcDay())),
      });
    return { board, status };
  }

  /** The run that begins on a date, else the current one in a zone. Throws 422 for a date on which no run begins. */
  function run(board: Leaderboard, date: string | undefined, tz: string | null): Run {
    const rule = playedRule(board);
    if (date === undefined) return runShownOn(rule, dayIn(tz, clock.now()));
    const run = isDate(date) ? runFrom(rule, dayOf(date)) : null;
    if (run === null) {
      const current = dateOf(runShownOn(rule, utcDay()).startDay);
      throw new AppError(
        'unprocessable',
        `run must be the first day of a run, as ${current} is; '${date}' is not one.`,
      );
    }
    return run;
  }

  /** Whether a run may be final. */
  function isOver({ endDay }: Run): boolean {
    return endDay !== null && endDay < utcDay();
  }

  return { statusOf, find, run, isOver };
}

export type RequestedRuns = ReturnType<typeof createRequestedRuns>;

/** Throws 422 for a negative offset without the user (its field in the request) from whom it counts. */
export function requireStart(offset: number, from: Record<string, string | undefined>): void {
  const [field, user] = Object.entries(from)[0]!;
  if (offset < 0 && user === undefined)
    throw new AppError('unprocessable', `offset must not be negative without a ${field} to count from.`);
}

/** Throws 422 for a page that is too long. */
export function requireLimit(limit: number): void {
  if (limit > MAX_LIMIT) throw new AppError('unprocessable', `limit must be at most ${MAX_LIMIT}.`);
}
