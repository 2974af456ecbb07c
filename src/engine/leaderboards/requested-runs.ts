import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import type { BoardStatus } from '../../domain/leaderboard.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { dateOf, dayOf, isDate, epochDay } from '../../domain/periods.ts';
import { type BoardRun, boardStatus, playedRule, type Run, runFrom, runShownOn } from '../../domain/runs.ts';
import { dayIn } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { visibleBoards } from '../find-configured.ts';

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
