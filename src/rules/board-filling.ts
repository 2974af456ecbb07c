import { clamped, type Decimal, ZERO } from '../domain/decimal.ts';
import {
  groupOf,
  isSamePlace,
  putScore,
  reachedIn,
  type RunScore,
  type ScoreChange,
  scoreIn,
  secondaryIn,
} from './leaderboards.ts';
import type { Plan, PlanBoard } from './plan.ts';
import { frequencyOf, localDayOf, settleUser } from './streaks.ts';
import { isEqual, isZero, minus, plus, reaches } from './sums.ts';
import { credit } from './teams.ts';
import { dayOfUser, type User } from './user.ts';

/*
 * Filling of a leaderboard from history: a user's scores are replaced by those that the user's history gives. A repetition changes
 * nothing.
 */

/** `metric`: number of the metric that the leaderboard ranks by; `null` for none. `plan`: of no metric. */
export interface Filling {
  plan: Plan;
  board: PlanBoard;
  metric: number | null;
  nowMs: number;
}

/** The user's current score on a leaderboard of streaks. Settles the user's streaks, so the user must be decoded again. */
export function streakScore(user: User, { streak, ...periods }: Plan, nowMs: number): number {
  settleUser(user, streak, localDayOf(periods, dayOfUser(user, nowMs)));
  return user.streaks[frequencyOf(streak)].length;
}

/**
 * Adds what a user gained since the scores were computed from history, when the user was `counted`. Returns `null` if it is uncertain to
 * which run the gain belongs: late events and reversals may belong to another than the current one.
 */
export function caughtUp(
  scores: readonly RunScore[],
  user: User,
  counted: User,
  filling: Filling,
): readonly RunScore[] | null {
  const { board, nowMs } = filling;
  if (board.from !== undefined || board.to !== undefined) return null;
  if (board.fold !== undefined) return scores.map((score) => betterOf(score, user, board));
  const gain = minus(sourceOf(user, filling), sourceOf(counted, filling));
  if (isZero(gain)) return scores;
  const added = board.sign === undefined ? gain : { whole: 0 - gain.whole, micros: 0 - gain.micros };
  const runDay = runOn(filling, dayOfUser(user, nowMs));
  if (runDay === null || runDay !== runOn(filling, dayOfUser(counted, counted.updatedMs))) return null;
  const reached = reachedIn(user, { board: board.no, runDay });
  const known = scores.find((score) => score.runDay === runDay);
  if (known === undefined) return [...scores, { runDay, ...added, reached }];
  const before = { whole: known.whole === board.floor ? 0 : known.whole, micros: known.micros };
  const after = { runDay, ...plus(before, added), reached: Math.max(known.reached ?? 0, reached) };
  return scores.map((score) => (score === known ? after : score));
}

/** The score of a run, or the user's if that is later or better: it contains what happened since. */
function betterOf(score: RunScore, user: User, board: PlanBoard): RunScore {
  const run = { board: board.no, runDay: score.runDay };
  const own = scoreIn(user, run);
  if (own === undefined) return score;
  const reached = reachedIn(user, run);
  const secondary = secondaryIn(user, board, score.runDay);
  const current = {
    runDay: score.runDay,
    whole: own.whole,
    micros: own.micros,
    reached,
    ...(secondary !== null && { secondary }),
  };
  if (board.ties === true && board.fold !== 'last' && isEqual(score, own)) {
    const better = (secondary ?? 0) - (score.secondary ?? 0);
    if (better !== 0) return better > 0 ? current : score;
    return { ...score, reached: Math.min(score.reached ?? reached, reached) };
  }
  const isWorse =
    board.fold === 'last' ? reached < (score.reached ?? 0) : reaches(score, own) === (board.fold === 'max');
  if (isWorse && score.whole !== board.floor) return score;
  return current;
}

/** The total from which the leaderboard's scores come. */
function sourceOf({ points, totals }: User, { board, metric }: Filling): Decimal {
  if (board.by === 'points') return { whole: points.get(board.system!) ?? 0, micros: 0 };
  const { whole, micros } = totals.get(metric ?? 0) ?? { whole: 0, micros: 0 };
  return { whole, micros };
}

/** First day of the run on a local day; `null` if there is none. */
function runOn({ plan, board }: Filling, day: number): number | null {
  const runDay = board.runs[day - plan.firstDay] ?? -1;
  return runDay < 0 ? null : runDay;
}

/** Sets a user's scores. Returns the changes, and whether the user is on the leaderboard. */
export function setScores(
  user: User,
  scores: readonly RunScore[],
  { board, nowMs }: Pick<Filling, 'board' | 'nowMs'>,
): { changes: ScoreChange[]; isOn: boolean } {
  const floor = board.floor ?? 0;
  const isShown = user.hidden === 0;
  const group = groupOf(board, user) ?? '';
  const changes: ScoreChange[] = [];
  let isOn = false;
  for (const each of scores) {
    const next = each.whole === board.floor ? each : { ...each, ...clamped(each) };
    const { runDay } = next;
    const run = { board: board.no, runDay };
    // Earlier teams are unknown: everything that is not in a stay yet was earned in the present team.
    const earned = minus(next, scoreIn(user, run) ?? ZERO);
    const teams = board.team === undefined ? null : credit(user, board, { runDay, earned, nowMs });
    const put = putScore(user, board, group, next);
    isOn ||= put.score > floor && isShown;
    const isMoved = group !== put.oldGroup && next.whole !== board.floor;
    if (isSamePlace(put) && !isMoved) continue;
    const isRanked = (name: string): boolean => isShown && !(board.groups !== undefined && name === '');
    changes.push({
      ...put,
      board,
      runDay,
      group,
      oldScore: isRanked(put.oldGroup) ? put.oldScore : floor,
      score: isRanked(group) ? put.score : floor,
      onlyGroup: true,
      teams: isShown ? teams : null,
    });
  }
  return { changes, isOn };
}
