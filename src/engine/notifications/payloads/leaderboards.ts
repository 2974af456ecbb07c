import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import type { BoardStatus, LeaderboardRanking } from '../../../domain/leaderboard.ts';
import { dateOf } from '../../../domain/periods.ts';
import { runOf } from '../../../domain/runs.ts';
import { groupFields, leaderboardResponse } from '../../responses/leaderboard-response.ts';
import { payloadJson, userPayloadJson, type UserJson } from './payload.ts';

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

/** The board with the dates of the run, as an event's answer shows it; the values of the group where there is a breakdown. */
function boardFields({ compiled, board, runDay, group }: BoardGroup, status: BoardStatus) {
  const run = runOf(board, runDay);
  return {
    ...leaderboardResponse(compiled, board),
    status,
    ...(run !== null && { start: dateOf(runDay), end: run.endDay === null ? null : dateOf(run.endDay) }),
    ...groupFields(compiled, board, group),
  };
}

/** Payload of `leaderboard.rank_changed`. */
export const rankChanged = (
  user: UserJson,
  at: BoardGroup,
  { rank, value, previousRank, previousValue }: PlaceChange,
) =>
  userPayloadJson('leaderboard.rank_changed', user, {
    leaderboard: { ...boardFields(at, 'active'), rank, value, previousRank, previousValue },
  });

/** Payload of `leaderboard.started`, `leaderboard.changed` and `leaderboard.finished`, with rankings best first. */
export const boardPayload = (
  type: 'leaderboard.started' | 'leaderboard.changed' | 'leaderboard.finished',
  at: BoardGroup,
  { status, rankings }: { status: BoardStatus; rankings: LeaderboardRanking[] },
): string => payloadJson(type, { leaderboard: { ...boardFields(at, status), rankings } });
