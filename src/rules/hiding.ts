import { NO_SCORE } from '../domain/leaderboard.ts';
import { doubleOf, reachedIn, type ScoreChange } from './leaderboards.ts';
import type { PlanBoard } from './plan.ts';
import { allMoves, type BoardRun } from './teams.ts';
import type { User } from './user.ts';

/*
 * Hidden users keep their scores, but are in no sorted set of a leaderboard, and earn nothing for teams. An administrator and the user
 * can each hide the user, who is shown only if neither does.
 */

/** Whether a user is hidden by one who can hide the user. `by`: a value of `HIDDEN_BY`. */
const isHiddenBy = ({ hidden }: User, by: number): boolean => hidden % (2 * by) >= by;

/**
 * Hides a user, or ends that. Returns the moves on the leaderboards (`boards`) on which the user has scores, other than those of runs
 * that are cleared; `null` if nothing changes.
 */
export function setHidden(
  user: User,
  { by, hidden }: { by: number; hidden: boolean },
  { boards, isCleared, nowMs }: { boards: readonly PlanBoard[]; isCleared: (run: BoardRun) => boolean; nowMs: number },
): ScoreChange[] | null {
  if (isHiddenBy(user, by) === hidden) return null;
  const wasShown = user.hidden === 0;
  user.hidden += hidden ? by : -by;
  user.updatedMs = Math.max(user.updatedMs, nowMs);
  const isShown = user.hidden === 0;
  if (wasShown === isShown) return [];
  return boards.flatMap((board) =>
    user.scores
      .filter((score) => score.board === board.no && !isCleared(score))
      .flatMap((score): ScoreChange[] => {
        const { runDay, group } = score;
        const floor = board.floor ?? 0;
        const teams = board.team === undefined ? null : allMoves(user, score, isShown ? 1 : -1);
        const isRanked = doubleOf(score) > floor && !(board.groups !== undefined && group === '');
        if (!isRanked && teams === null) return [];
        const reached = board.ties === true ? reachedIn(user, score) : null;
        const place = isRanked ? doubleOf(score) : floor;
        return [
          {
            board,
            runDay,
            group,
            oldGroup: group,
            oldScore: wasShown ? place : floor,
            score: isShown ? place : floor,
            onlyGroup: !board.runs.includes(runDay),
            teams,
            oldReached: reached,
            reached,
          },
        ];
      }),
  );
}

/** A sorted set of a leaderboard. */
export interface BoardSet extends BoardRun {
  group: string;
}

/**
 * The moves that take a user from sorted sets, under any member that the user may have there: from all that the state names, and from
 * others, of runs that it no longer names and of leaderboards that the caller does not know yet.
 */
export function leaveSets(user: User, others: readonly BoardSet[]): ScoreChange[] {
  return [...user.scores, ...others].flatMap(({ board: no, runDay, group }) => {
    const leave = { runDay, group, oldGroup: group, onlyGroup: true, teams: null, oldReached: null, reached: null };
    const board: PlanBoard = { no, by: 'none', runs: [], groups: [] };
    const timed = user.scoreTimes.filter((time) => time.board === no && time.runDay === runDay);
    return [
      { ...leave, board, oldScore: 1, score: 0 },
      ...timed.map(({ reached }) => {
        const byTime: PlanBoard = { ...board, ties: true, floor: NO_SCORE };
        return { ...leave, board: byTime, oldScore: 0, score: NO_SCORE, oldReached: reached, reached };
      }),
    ];
  });
}
