import type { Leaderboard } from '../../domain/catalog.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import type { OverRun } from '../../postgres/boards/final-runs.ts';

/** A run with its board, ended or not yet. */
export interface Over {
  board: Leaderboard;
  run: OverRun;
  /** The first day of the run after it; null: there is none. */
  nextRunDay: number | null;
}

/** The oldest run of a board that is not final; null: there is none, or it has no end. */
export function overRun({
  tenantNo,
  board,
  nextRunDay: runDay,
}: {
  tenantNo: number;
  board: Leaderboard;
  nextRunDay: number | null;
}): Over | null {
  if (runDay === null) return null;
  const rule = playedRule(board);
  const endDay = runOf(rule, runDay)?.endDay ?? null;
  if (endDay === null) return null;
  return {
    board,
    run: { tenantNo, boardNo: board.no, runDay, lastDay: endDay, finalMs: finalMs(endDay) },
    nextRunDay: runOf(rule, endDay + 1)?.startDay ?? null,
  };
}
