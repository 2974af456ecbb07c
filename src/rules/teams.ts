import type { Decimal } from '../domain/decimal.ts';
import { MOST_STAYS } from '../packed/user-fields.ts';
import type { PlanBoard } from './plan.ts';
import { addTo, isZero } from './sums.ts';
import type { Stay, User } from './user.ts';

/*
 * What users earn for teams on leaderboards with a `team`: the number of the user attribute that names the team. A user's stays in a
 * run of a leaderboard add up to the user's score in it.
 */

/** A change of what a team earned in a run. `members`: change of the number of users who earned something. */
export interface TeamMove extends Decimal {
  team: string;
  members: number;
}

/** A run of a leaderboard of the tenant's plan. `runDay`: its first day. */
export interface RunOfPlan {
  board: number;
  runDay: number;
}

const isOf = (stay: Stay, { board, runDay }: RunOfPlan): boolean => stay.board === board && stay.runDay === runDay;

/** What a user earned for a team in a run, over all stays in it. */
function earnedFor(user: User, run: RunOfPlan, team: string): Decimal {
  const sum = { whole: 0, micros: 0 };
  for (const stay of user.stays) if (isOf(stay, run) && stay.team === team) addTo(sum, stay);
  return sum;
}

/** Begins a stay in a run, and drops the leaderboard's stays in earlier runs, as `ensureScore` drops scores. */
function beginStay(
  user: User,
  board: PlanBoard,
  { runDay, team, sinceMs }: Pick<Stay, 'runDay' | 'team' | 'sinceMs'>,
): Stay {
  const oldest = board.kept ?? board.runs[0];
  const stay: Stay = { board: board.no, runDay, sinceMs, team, whole: 0, micros: 0 };
  user.stays = user.stays.filter((each) => each.board !== board.no || oldest === undefined || each.runDay >= oldest);
  user.stays.push(stay);
  return stay;
}

/** The user's present stay in a run; begins it if the team has changed. After `MOST_STAYS` stays, the last one goes on. */
function presentStay(user: User, board: PlanBoard, { runDay, nowMs }: { runDay: number; nowMs: number }): Stay {
  const team = user.attributes.get(board.team!) ?? '';
  const own = user.stays.filter((each) => isOf(each, { board: board.no, runDay }));
  const last = own.at(-1);
  if (last !== undefined && (last.team === team || own.length === MOST_STAYS)) return last;
  return beginStay(user, board, { runDay, team, sinceMs: nowMs });
}

/** The stay in a run to which a time belongs: the last one that began by then, else the first. */
function stayAt(user: User, run: RunOfPlan, atMs: number): Stay | undefined {
  const own = user.stays.filter((each) => isOf(each, run));
  return own.findLast(({ sinceMs }, index) => index === 0 || sinceMs <= atMs);
}

function addToStay(user: User, stay: Stay, earned: Decimal): TeamMove[] | null {
  const before = earnedFor(user, stay, stay.team);
  addTo(stay, earned);
  if (stay.team === '') return null;
  const after = earnedFor(user, stay, stay.team);
  const members = Number(!isZero(after)) - Number(!isZero(before));
  return [{ team: stay.team, whole: after.whole - before.whole, micros: after.micros - before.micros, members }];
}

/** Adds to what the user earned in a run, in the present team. Returns `null` if no team's sum changes. */
export const credit = (
  user: User,
  board: PlanBoard,
  { runDay, earned, nowMs }: { runDay: number; earned: Decimal; nowMs: number },
): TeamMove[] | null => addToStay(user, presentStay(user, board, { runDay, nowMs }), earned);

/** The same in the team of an earlier time. */
export function correct(
  user: User,
  board: PlanBoard,
  { runDay, earned, atMs }: { runDay: number; earned: Decimal; atMs: number },
): TeamMove[] | null {
  const stay =
    stayAt(user, { board: board.no, runDay }, atMs) ?? beginStay(user, board, { runDay, team: '', sinceMs: atMs });
  return addToStay(user, stay, earned);
}

/** All that the user earned for teams in a run; `null` for nothing. `sign`: -1 to take it from the teams. */
export function allMoves(user: User, run: RunOfPlan, sign: 1 | -1): TeamMove[] | null {
  const teams = new Set(user.stays.filter((each) => isOf(each, run) && each.team !== '').map(({ team }) => team));
  const moves = [...teams].flatMap((team) => {
    const { whole, micros } = earnedFor(user, run, team);
    return isZero({ whole, micros }) ? [] : [{ team, whole: sign * whole, micros: sign * micros, members: sign }];
  });
  return moves.length === 0 ? null : moves;
}
