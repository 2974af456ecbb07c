import type { Leaderboard } from '../../domain/catalog.ts';
import { dateOf } from '../../domain/periods.ts';
import type { BoardProgress } from '../../postgres/boards/progress.ts';
import { type OnPieceFailed, type Piece, Pieces } from '../schedule/pieces.ts';

type NamedBoard = { tenantNo: number; board: Leaderboard } | { tenantNo: number; boardNo: number };

const numberOf = (named: NamedBoard): number => ('board' in named ? named.board.no : named.boardNo);

/** The key of a board's piece of work. */
export const boardKeyOf = (named: NamedBoard): string => `${named.tenantNo}:${numberOf(named)}`;

/** The scheduled work on a board. `runDay`: first day of the run that it concerns. */
export function boardPiece(named: NamedBoard, runDay?: number): Piece {
  const { tenantNo } = named;
  const boardNo = numberOf(named);
  const board = 'board' in named ? named.board.key : undefined;
  return {
    key: boardKeyOf(named),
    name: `leaderboard ${board === undefined ? `no. ${boardNo}` : `'${board}'`} of tenant ${tenantNo}`,
    detail: { tenantNo, boardNo, board, run: runDay === undefined ? undefined : dateOf(runDay) },
  };
}

export const boardPieces = (kind: string, onFailed?: OnPieceFailed): Pieces => new Pieces({ kind, onFailed });

/** The boards that are filled from history and not set aside. */
export const readyBoards = (boards: readonly BoardProgress[], pieces: Pieces): BoardProgress[] =>
  boards.filter((progress) => !progress.isFilling && !pieces.isAside(boardKeyOf(progress)));
