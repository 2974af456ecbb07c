import { firstOpenRun } from '../../catalog/boards-to-track.ts';
import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { PlanBoard } from '../../rules/plan.ts';
import type { OpenRun, ScoredBoard } from '../../rules/recomputation.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { epochDay } from '../../domain/periods.ts';
import { playedRule, runsFrom } from '../../domain/runs.ts';
import type { BoardFill } from '../../postgres/boards/progress.ts';
import type { StoredRecomputation } from '../../postgres/corrections/recomputations.ts';

/** An active board with its open runs, oldest first. */
export interface OpenBoard {
  board: PlanBoard;
  runs: OpenRun[];
}

export function openBoards(compiled: CompiledCatalog, nowMs: number): OpenBoard[] {
  return compiled.catalog.leaderboards.flatMap((leaderboard) => {
    const runs = leaderboard.status === 'inactive' ? [] : openRuns(leaderboard, nowMs);
    return runs.length === 0 ? [] : [{ board: compileBoard(compiled, leaderboard, { metric: null, days: [] }), runs }];
  });
}

function openRuns(leaderboard: Leaderboard, nowMs: number): OpenRun[] {
  const first = firstOpenRun(leaderboard, nowMs);
  const runs = first === null ? [] : runsFrom(playedRule(leaderboard), first.startDay, epochDay(nowMs) + 1);
  return Array.from(runs, ({ startDay, endDay }) => ({ first: startDay, ...(endDay !== null && { last: endDay }) }));
}

/** Days (epoch days, ascending) on which an open run of a points board begins, or has just ended. */
export function boundsOf(boards: readonly OpenBoard[]): number[] {
  const days = boards
    .filter(({ board }) => board.by === 'points')
    .flatMap(({ runs }) => runs.flatMap(({ first, last }) => (last === undefined ? [first] : [first, last + 1])));
  return [...new Set(days)].toSorted((a, b) => a - b);
}

/** The number of bounds up to a day, as in Postgres's `width_bucket`. */
export const segmentOf = (bounds: readonly number[], day: number): number =>
  bounds.filter((bound) => bound <= day).length;

/** The day on which awards of a segment are dated: its last one, or today if that is earlier. */
export const dayOfSegment = (bounds: readonly number[], segment: number, today: number): number =>
  Math.min((bounds[segment] ?? Infinity) - 1, today);

/**
 * The boards whose scores a step changes; `null` if boards are not recomputed. A board that was filled since the plan was
 * made has lost its previous scores, so the planned changes and their reversal no longer apply: only awards change it.
 */
export function scoredBoards(
  { request, status, figures }: Pick<StoredRecomputation, 'request' | 'status' | 'figures'>,
  boards: readonly OpenBoard[],
  fills: readonly Pick<BoardFill, 'parameters' | 'requested'>[],
): ScoredBoard[] | null {
  if (!request.what.includes('boards')) return null;
  const { plannedFromMs = 0, appliedFromMs = 0 } = figures;
  const sinceMs = status === 'reverting' ? appliedFromMs : plannedFromMs;
  const filled = fills
    .filter(({ requested }) => requested.getTime() > sinceMs)
    .map(({ parameters }) => parameters.boardNo);
  return boards.map((each) => ({ ...each, filled: filled.includes(each.board.no) }));
}
