import { NO_SCORE } from '../domain/leaderboard.ts';
import { doubleOf, reachedIn, type ScoreChange, secondaryIn } from './leaderboards.ts';
import type { PlanBoard } from './plan.ts';
import { allMoves, type RunOfPlan } from './teams.ts';
import type { Score, User } from './user.ts';

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
  { boards, isCleared, nowMs }: { boards: readonly PlanBoard[]; isCleared: (run: RunOfPlan) => boolean; nowMs: number },
): ScoreChange[] | null {
  if (isHiddenBy(user, by) === hidden) return null;
  const wasShown = user.hidden === 0;
  user.hidden += hidden ? by : -by;
  user.updatedMs = Math.max(user.updatedMs, nowMs);
  const isShown = user.hidden === 0;
  if (wasShown === isShown) return [];
  return boards.flatMap((board) =>
    scoresOn(user, board, isCleared).flatMap((score): ScoreChange[] => {
      const { runDay } = score;
      const floor = board.floor ?? 0;
      const teams = board.team === undefined ? null : allMoves(user, score, isShown ? 1 : -1);
      const isPlaced = isRanked(board, score);
      if (!isPlaced && teams === null) return [];
      const entry = entryOf(user, board, score);
      const place = isPlaced ? entry.score : floor;
      const scores = { oldScore: wasShown ? place : floor, score: isShown ? place : floor };
      return [
        {
          ...entry,
          ...scores,
          onlyGroup: !board.runs.includes(runDay),
          teams,
          oldReached: entry.reached,
          oldSecondary: entry.secondary,
        },
      ];
    }),
  );
}

const scoresOn = (user: User, board: PlanBoard, isCleared: (run: RunOfPlan) => boolean): Score[] =>
  user.scores.filter((score) => score.board === board.no && !isCleared(score));

/** Whether a score is in a sorted set, if its user is not hidden. `grouped`: whether the leaderboard has a breakdown. */
export const hasPlace = (score: Score, { grouped, floor }: { grouped: boolean; floor: number }): boolean =>
  doubleOf(score) > floor && !(grouped && score.group === '');

const isRanked = ({ floor = 0, groups }: PlanBoard, score: Score): boolean =>
  hasPlace(score, { grouped: groups !== undefined, floor });

/** The move that puts a score into its sorted set, and into no record. */
const entryOf = (user: User, board: PlanBoard, score: Score): ScoreChange => ({
  board,
  runDay: score.runDay,
  group: score.group,
  oldGroup: score.group,
  oldScore: board.floor ?? 0,
  score: doubleOf(score),
  onlyGroup: true,
  teams: null,
  oldReached: null,
  reached: board.ties === true ? reachedIn(user, score) : null,
  oldSecondary: null,
  secondary: secondaryIn(user, board, score.runDay),
});

/** The moves that put a user into the sorted sets of leaderboards, other than those of runs that are cleared. */
export const enterSets = (
  user: User,
  boards: readonly PlanBoard[],
  isCleared: (run: RunOfPlan) => boolean,
): ScoreChange[] =>
  user.hidden !== 0
    ? []
    : boards.flatMap((board) =>
        scoresOn(user, board, isCleared)
          .filter((score) => isRanked(board, score))
          .map((score) => entryOf(user, board, score)),
      );

const bothTies = ({ reached, secondary }: { reached: number | null; secondary: number | null }) => ({
  oldReached: reached,
  reached,
  oldSecondary: secondary,
  secondary,
});

const NO_TIES = bothTies({ reached: null, secondary: null });

/** A sorted set of a leaderboard. */
export interface BoardSet extends RunOfPlan {
  group: string;
}

/**
 * The moves that take a user from sorted sets, under any member that the user may have there: from all that the state names, and from
 * others, of runs that it no longer names and of leaderboards that the caller does not know yet. `user`: `null` without a state.
 */
export function leaveSets(user: User | null, others: readonly BoardSet[]): ScoreChange[] {
  return [...(user?.scores ?? []), ...others].flatMap(({ board: no, runDay, group }) => {
    const leave = { runDay, group, oldGroup: group, onlyGroup: true, teams: null, ...NO_TIES };
    const board: PlanBoard = { no, by: 'none', runs: [], groups: [] };
    const timed = user?.scoreTimes.filter((time) => time.board === no && time.runDay === runDay) ?? [];
    return [
      { ...leave, board, oldScore: 1, score: 0 },
      ...timed.map(({ reached, secondary = null }) => {
        const byTime: PlanBoard = { ...board, ties: true, floor: NO_SCORE };
        return { ...leave, board: byTime, oldScore: 0, score: NO_SCORE, ...bothTies({ reached, secondary }) };
      }),
    ];
  });
}
