import type { BoardFill } from '../../postgres/boards/fills.ts';
import type { StoredRecomputation } from '../../postgres/recomputations/recomputations.ts';
import type { OpenBoard } from './open-boards.ts';
import type { ScoredBoard } from './recompute-call.ts';

/**
 * The boards whose scores a step moves; null: boards are not computed again. What was planned, or is to be taken back, of a board
 * that was filled since has gone with its previous scores: only awards move it.
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
