import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import type { BoardStatus, LeaderboardRanking } from '../../../domain/leaderboard.ts';
import { dateOf } from '../../../domain/periods.ts';
import { runOf } from '../../../domain/runs.ts';
import { groupFields, leaderboardResponse } from '../../responses/leaderboard-response.ts';
import { onceACatalog } from './once-a-catalog.ts';
import type { UserJson } from './payload.ts';

/** A group of a run of a board. `runDay`: the run's first day, epoch day; `group`: '' without breakdown. */
export interface BoardGroup {
  compiled: CompiledCatalog;
  board: Leaderboard;
  runDay: number;
  group: string;
}

/** A user's place in it, and the one that was reported last; null: not on the board, or not known. */
export interface PlaceChange {
  rank: number | null;
  value: number | null;
  previousRank: number | null;
  previousValue: number | null;
}

/** JSON of an object without its closing brace, to go on with more fields. */
const opened = (fields: object): string => JSON.stringify(fields).slice(0, -1);

const runs = onceACatalog<string, string>();

/**
 * JSON, without its closing brace, of the board with the dates of the run, as an event's answer shows it, and with the values
 * of the group where there is a breakdown. As text, because events change several boards each: 8 µs less a board.
 */
function openedBoard({ compiled, board, runDay, group }: BoardGroup, status: BoardStatus): string {
  const ofRun = runs(compiled, `${board.no} ${runDay} ${status}`, () => {
    const run = runOf(board, runDay);
    const dates = run && { start: dateOf(runDay), end: run.endDay === null ? null : dateOf(run.endDay) };
    return opened({ ...leaderboardResponse(compiled, board), status, ...dates });
  });
  return group === '' ? ofRun : `${ofRun},${opened(groupFields(compiled, board, group)).slice(1)}`;
}

/** Payload of `leaderboard.rank_changed`. */
export function rankChanged(user: UserJson, at: BoardGroup, change: PlaceChange): string {
  const { rank, value, previousRank, previousValue } = change;
  const place = JSON.stringify({ rank, value, previousRank, previousValue }).slice(1);
  return `{"type":"leaderboard.rank_changed","user":${user},"leaderboard":${openedBoard(at, 'active')},${place}}`;
}

/** Payload of `leaderboard.started`, `leaderboard.changed` and `leaderboard.finished`, with rankings best first. */
export const boardPayload = (
  type: 'leaderboard.started' | 'leaderboard.changed' | 'leaderboard.finished',
  at: BoardGroup,
  { status, rankings }: { status: BoardStatus; rankings: LeaderboardRanking[] },
): string => `{"type":"${type}","leaderboard":${openedBoard(at, status)},"rankings":${JSON.stringify(rankings)}}}`;
