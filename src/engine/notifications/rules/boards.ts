import type { RecordedBoard } from '../../../packed/record.ts';
import { RECORD, RECORDED_BOARD } from '../../../packed/record-fields.ts';
import type { UserState } from '../../../packed/state.ts';
import { rankChanged } from '../payloads/leaderboards.ts';
import type { Change, Reported } from './change.ts';

const NOT_ON_THE_BOARD = -1;

/** `leaderboard.rank_changed` for each board on which the user has another rank than before: appears, moves, leaves. */
export function* boardNotifications({ compiled, record, wants, user }: Change): Generator<Reported> {
  for (const recorded of record[RECORD.boards] ?? []) {
    const rank = recorded[RECORDED_BOARD.rank];
    const previousRank = recorded[RECORDED_BOARD.previousRank];
    if (rank === previousRank) continue;
    const no = recorded[RECORDED_BOARD.board];
    const board = compiled.leaderboardsByNo.get(no);
    if (board === undefined) continue;
    const about = { leaderboardId: board.id };
    if (!wants('leaderboard.rank_changed', about)) continue;
    const on = <T>(place: number, value: T): T | null => (place === NOT_ON_THE_BOARD ? null : value);
    const change = {
      rank: on(rank, rank),
      value: on(rank, recorded[RECORDED_BOARD.score] ?? scoreIn(user.state(), recorded)),
      previousRank: on(previousRank, previousRank),
      previousValue: on(previousRank, recorded[RECORDED_BOARD.previousScore] ?? null),
    };
    const runDay = recorded[RECORDED_BOARD.runDay];
    const group = recorded[RECORDED_BOARD.group];
    const payload = rankChanged(user.json(), { compiled, board, runDay, group }, change);
    yield { type: 'leaderboard.rank_changed', no, about, place: { boardNo: no, runDay, group }, payload };
  }
}

/** The score as the entry left it: of a record that does not hold it. */
function scoreIn({ boards }: UserState, recorded: RecordedBoard): number | null {
  const runs = boards[recorded[RECORDED_BOARD.board]] ?? [];
  const score = runs.find(({ runDay }) => runDay === recorded[RECORDED_BOARD.runDay])?.score;
  return score === undefined ? null : Number(score);
}
