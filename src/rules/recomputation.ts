import { clamped, type Decimal, SUM_BOUND, ZERO } from '../domain/decimal.ts';
import { HISTORY_SUM } from '../packed/call-fields.ts';
import { historySum } from '../packed/packed-arrays.ts';
import { COMPENSATED, COMPLETED, RECOMPUTED_SCORE } from '../packed/record-fields.ts';
import type { Compensated, PackedCompletion, RecomputedScore, Shortfall } from '../packed/record.ts';
import type { HistorySum } from '../packed/state.ts';
import { compensate } from './compensation.ts';
import {
  groupOf,
  isInside,
  putScore,
  reachedIn,
  type ScoreChange,
  scoreBoards,
  scoreIn,
  secondaryIn,
} from './leaderboards.ts';
import type { Plan, PlanBoard } from './plan.ts';
import { type PointsMove, recomputeLevels } from './points.ts';
import { addCompletion, keptPeriod, progressOf, type QuestChange, removeCompletion } from './quests.ts';
import { restoreCompletion } from './reversal.ts';
import { frequencyOf, localDayOf, type Settlements, settleUser } from './streaks.ts';
import { isZero, plus } from './sums.ts';
import { correct, credit } from './teams.ts';
import { dayOfUser, type Score, secondOfUser, type User } from './user.ts';

/*
 * A recomputation changes what users have to what they would have under the current rules: completions of achievements, points and scores
 * in runs that are not final. `src/engine/recomputations` plans the changes from history. They are applied to the user of today, and skip
 * what is no longer as the plan assumed; reverting applies the opposite changes.
 */

/** The changes to apply to a user. */
export interface PlannedUser {
  /** When the user was created (epoch ms). */
  created: number;
  /** Numbers of the achievements to complete now. */
  complete: number[];
  /** Periods of repeating achievements to complete now; omitted if there are none. */
  periods?: PlannedPeriod[];
  /** Number of a repeating achievement of which completions are revoked → time of the latest other one (epoch ms). */
  latest?: Record<number, number>;
  /** Completions to restore unchanged. */
  restore: PackedCompletion[];
  revoke: PackedCompletion[];
  /** Points to take; negative if they are given. With an achievement: only if this call changes that achievement. */
  awards: { award: Compensated; achievement?: number }[];
  scores: ScoreMove[];
  /** Whether no total may be lowered. */
  keeps: boolean;
  /** The user's number of corrections, if it matters; after another correction nothing is changed. */
  corrections?: number;
  /** Set to revert: when it was applied (epoch ms). Teams lose what they received then. */
  appliedMs?: number;
}

/** A period of a repeating achievement. */
export interface PlannedPeriod {
  no: number;
  period: number;
}

/** The change of a score in a run, besides awards. `group`: where to return from `instead`; default: by attributes. */
export interface ScoreMove extends Decimal {
  no: number;
  run: number;
  group?: string;
  instead?: string;
  /** Instead of a change, on boards on which 0 is a score: the score that is replaced if it is still the same. */
  was?: HistorySum;
  becomes?: HistorySum;
}

/** A run that has begun in some zone and is not final: first and last day (epoch days). Without a last day it does not end. */
export interface OpenRun {
  first: number;
  last?: number;
}

/** A leaderboard whose scores are recomputed. `filled`: it was filled since the plan was made, so its scores need only the awards. */
export interface ScoredBoard {
  board: PlanBoard;
  runs: readonly OpenRun[];
  filled: boolean;
}

export interface RecomputationStep {
  /** Of no metric. */
  plan: Plan;
  nowMs: number;
  /** A number above those of all earlier steps. */
  step: number;
  /** Reverts what was applied: planned scores include the awards, and earlier totals may exceed the present maximum. */
  reverts: boolean;
  /** Maximum points by number of the system. */
  limits: Readonly<Record<number, number>>;
  /** `null`: awards change leaderboards of points in the current run, and no other score changes. */
  scored: readonly ScoredBoard[] | null;
}

/** What a step changed. The user has been changed in place. */
export interface RecomputationOutcome extends CompletionChanges {
  day: number;
  settlements: Settlements | null;
  /** The awards that were due. */
  awards: Compensated[];
  ledgers: PointsMove[];
  shortfalls: Shortfall[];
  /** `null`: scores are not recomputed. */
  recomputed: RecomputedScore[] | null;
  scores: ScoreChange[];
}

/** Applies planned changes to a user. Returns `null` if nothing remains to be done; the user must then be decoded again. */
export function recompute(user: User, planned: PlannedUser, around: RecomputationStep): RecomputationOutcome | null {
  const { plan, nowMs, step, reverts, limits, scored } = around;
  const day = dayOfUser(user, nowMs);
  const second = secondOfUser(user, nowMs);
  const settlements = settleUser(user, plan.streak, localDayOf(plan, day));
  const { length } = user.streaks[frequencyOf(plan.streak)];
  const done = changeCompletions(user, planned, nowMs);
  const awards = dueAwards(user, planned, done.changed, reverts ? {} : limits);
  const { moves, shortfalls } = compensate(user, awards, { held: [], limits: null });
  const triggers = new Set(awards.map((award) => award[COMPENSATED.trigger]));
  recomputeLevels(user, plan.systems, triggers, nowMs);
  const ledgers = moves.filter((move) => move.awards.length > 0);
  const boards = scored === null ? null : changeScores(user, planned, { ...around, scored, moves, day, second });
  const changes = done.completed.length + done.revoked.length + done.restored.length + awards.length;
  if (changes + (boards?.recomputed.length ?? 0) === 0) return null;
  const correctedMs = planned.appliedMs ?? null;
  const ledgersOfBoards = scored === null ? moves : [];
  const scoring = { plan, nowMs, day, second, ledgers: ledgersOfBoards, length, event: null, correctedMs };
  const scores = [...(boards?.changes ?? []), ...scoreBoards(user, scoring).changes];
  user.recomputed = step;
  return { day, settlements, ...done, awards, ledgers, shortfalls, recomputed: boards?.recomputed ?? null, scores };
}

interface CompletionChanges {
  /** Numbers of achievements completed now. */
  completed: number[];
  quests: QuestChange[];
  restored: PackedCompletion[];
  revoked: PackedCompletion[];
  /** Numbers of achievements that are no longer as the plan assumed. */
  skipped: number[];
  /** Numbers of the achievements that changed. */
  changed: ReadonlySet<number>;
  /** Achievements that the user no longer has at all, or has again. */
  completions: [achievement: number, added: 1 | -1][];
}

/** Completes, restores and revokes a user's achievements as planned. Restoring and revoking concern exactly the given completion. */
function changeCompletions(user: User, planned: PlannedUser, nowMs: number): CompletionChanges {
  const changed = new Set<number>();
  const changes: CompletionChanges = {
    completed: [],
    quests: [],
    restored: [],
    revoked: [],
    skipped: [],
    changed,
    completions: [],
  };
  /** Notes an item in a list of changes; or that the achievement is skipped. */
  const note = <T>(no: number, isDone: boolean, list: T[], item: T): void => {
    if (isDone) {
      list.push(item);
      changed.add(no);
    } else changes.skipped.push(no);
  };
  for (const no of planned.complete) {
    const isNew = !user.completions.has(no);
    if (isNew) user.completions.set(no, nowMs);
    note(no, isNew, changes.completed, no);
  }
  for (const { no, period } of planned.periods ?? []) {
    const kept = keptPeriod(user, no, period) ?? null;
    const isNew = kept?.done !== true;
    if (isNew) {
      addCompletion(user, no, kept, nowMs);
      const { whole, micros } = kept ?? ZERO;
      const { times } = progressOf(user, no);
      changes.quests.push({ achievement: no, period, times, whole, micros, completed: 1 });
    }
    note(no, isNew, changes.completed, no);
  }
  for (const each of planned.restore) {
    const no = each[COMPLETED.achievement];
    const isFirst = restoreCompletion(user, each);
    if (isFirst === true) changes.completions.push([no, 1]);
    note(no, isFirst !== null, changes.restored, each);
  }
  for (const each of planned.revoke) {
    const no = each[COMPLETED.achievement];
    const wasLast = revoke(user, each, planned.latest);
    if (wasLast === true) changes.completions.push([no, -1]);
    note(no, wasLast !== null, changes.revoked, each);
  }
  return changes;
}

/** Revokes a completion. Returns whether it was the user's only one; `null` if the user does not have it. */
function revoke(user: User, completion: PackedCompletion, latest: PlannedUser['latest']): boolean | null {
  const no = completion[COMPLETED.achievement];
  const period = completion[COMPLETED.period];
  if (period !== undefined)
    return keptPeriod(user, no, period)?.done === false ? null : removeCompletion(user, completion, latest?.[no]);
  if (user.completions.get(no) !== completion[COMPLETED.atMs]) return null;
  user.completions.delete(no);
  return true;
}

/**
 * The planned points that must be moved now: without those for achievements that did not change, and limited to each system's maximum.
 */
function dueAwards(
  user: User,
  { awards, keeps }: PlannedUser,
  changed: ReadonlySet<number>,
  limits: Readonly<Record<number, number>>,
): Compensated[] {
  const systems = new Map<number, Compensated[]>();
  for (const { award, achievement } of awards) {
    if (achievement !== undefined && !changed.has(achievement)) continue;
    const no = award[COMPENSATED.system];
    systems.set(no, [...(systems.get(no) ?? []), award]);
  }
  const due: Compensated[] = [];
  for (const [no, list] of systems) {
    const given = list.reduce((sum, award) => sum - award[COMPENSATED.points], 0);
    if (keeps && given < 0) continue;
    const total = user.points.get(no) ?? 0;
    let excess = total + given - Math.max(total, limits[no] ?? SUM_BOUND - 1);
    for (const award of list) {
      const points = award[COMPENSATED.points];
      const cut = points < 0 ? Math.max(0, Math.min(excess, -points)) : 0;
      excess -= cut;
      if (points + cut === 0) continue;
      const day = award[COMPENSATED.day];
      const packed = [award[COMPENSATED.award], no, award[COMPENSATED.trigger], points + cut] as const;
      due.push(day === undefined ? [...packed] : [...packed, day]);
    }
  }
  return due;
}

interface ScoringStep extends Omit<RecomputationStep, 'scored'> {
  scored: readonly ScoredBoard[];
  moves: readonly PointsMove[];
  day: number;
  second: number;
}

/**
 * Changes a user's scores in runs that are not final as planned, and moves them to the current groups. On leaderboards of points, adds the
 * awards of the same step to the runs of their days.
 */
function changeScores(
  user: User,
  planned: PlannedUser,
  step: ScoringStep,
): { changes: ScoreChange[]; recomputed: RecomputedScore[] } {
  const moves = new Map(planned.scores.map((move) => [`${move.no}:${move.run}`, move]));
  const changes: ScoreChange[] = [];
  const recomputed: RecomputedScore[] = [];
  for (const scored of step.scored)
    for (const run of scored.runs) {
      const move = moves.get(`${scored.board.no}:${run.first}`);
      const changed = changeScore(user, planned, { scored, run, move, step });
      if (changed === null) continue;
      recomputed.push(changed.recomputed);
      if (changed.change !== null) changes.push(changed.change);
    }
  return { changes, recomputed };
}

function changeScore(
  user: User,
  { keeps, appliedMs }: PlannedUser,
  planned: { scored: ScoredBoard; run: OpenRun; move: ScoreMove | undefined; step: ScoringStep },
): { change: ScoreChange | null; recomputed: RecomputedScore } | null {
  const { scored, run, move, step } = planned;
  const { board, filled } = scored;
  const runDay = run.first;
  const floor = board.floor ?? 0;
  let added: Decimal = { whole: 0, micros: 0 };
  if ((!step.reverts || filled) && isInside(board, step.second))
    added = { whole: awardedIn(board, run, step), micros: 0 };
  if (move !== undefined && !filled) added = plus(added, move);
  if (keeps && (added.whole < 0 || added.micros < 0)) added = { whole: 0, micros: 0 };

  const before = scoreIn(user, { board: board.no, runDay });
  const current: HistorySum = before === undefined ? [runDay, floor, 0, 0] : heldSum(user, board, before);
  const replacement =
    move?.becomes !== undefined && !filled && isSameScore(current, move.was!) ? move.becomes : undefined;
  const becomes = replacement ?? current;
  const isMoved = !isZero(added) || replacement !== undefined;
  if ((before === undefined && !isMoved) || (move === undefined && added.whole === 0)) return null;
  const oldGroup = before?.group ?? '';
  let group = groupOf(board, user) ?? '';
  if (move?.group !== undefined) group = oldGroup === move.instead ? move.group : oldGroup;
  if (!isMoved && group === oldGroup) return null;

  let next: Decimal = { whole: becomes[HISTORY_SUM.whole], micros: becomes[HISTORY_SUM.micros] };
  if (next.whole !== board.floor) next = clamped(plus(next, added));
  const put = putScore(user, board, group, {
    runDay,
    ...next,
    reached: becomes[HISTORY_SUM.reached] ?? null,
    secondary: becomes[HISTORY_SUM.secondary] ?? 0,
  });
  const recomputed: RecomputedScore = [board.no, runDay, added.whole, added.micros, oldGroup, group];
  if (board.floor !== undefined)
    Object.assign(recomputed, { [RECOMPUTED_SCORE.was]: current, [RECOMPUTED_SCORE.is]: becomes });
  const teams = board.team === undefined ? null : earnForTeam(user, board, { runDay, added, appliedMs, ...step });
  // A user who is hidden, or lacks a value of the breakdown, keeps the score but has no place.
  const isRanked = (name: string): boolean => user.hidden === 0 && !(board.groups !== undefined && name === '');
  if (!isRanked(oldGroup) && !isRanked(group)) return { change: null, recomputed };
  const change = {
    ...put,
    board,
    runDay,
    group,
    oldGroup,
    oldScore: isRanked(oldGroup) ? put.oldScore : floor,
    score: isRanked(group) ? put.score : floor,
    onlyGroup: false,
    teams: user.hidden === 0 ? teams : null,
  };
  return { change, recomputed };
}

/** Teams get what users earn now, and lose what they received when a recomputation was applied. */
const earnForTeam = (
  user: User,
  board: PlanBoard,
  { runDay, added, appliedMs, nowMs }: { runDay: number; added: Decimal; appliedMs: number | undefined; nowMs: number },
): ScoreChange['teams'] =>
  appliedMs === undefined
    ? credit(user, board, { runDay, earned: added, nowMs })
    : correct(user, board, { runDay, earned: added, atMs: appliedMs });

/** The points of a step's awards in a run of a leaderboard of points. */
function awardedIn(
  { by, system }: PlanBoard,
  { first, last = Infinity }: OpenRun,
  { moves, day }: ScoringStep,
): number {
  if (by !== 'points') return 0;
  return moves
    .filter((move) => move.system.no === system)
    .flatMap(({ awards }) => awards)
    .filter((award) => (award.day ?? day) >= first && (award.day ?? day) <= last)
    .reduce((sum, { points }) => sum + points, 0);
}

/** A user's score in a run, in the form of one by history. */
export const heldSum = (user: User, board: PlanBoard, score: Score): HistorySum =>
  historySum(score.runDay, {
    ...score,
    reached: reachedIn(user, score),
    secondary: secondaryIn(user, board, score.runDay),
  });

/** Whether two sums are the same score. Only the secondary score may tell two apart; a difference of the times does not count. */
export const isSameScore = (one: HistorySum, other: HistorySum): boolean =>
  one[HISTORY_SUM.whole] === other[HISTORY_SUM.whole] &&
  one[HISTORY_SUM.micros] === other[HISTORY_SUM.micros] &&
  (one[HISTORY_SUM.secondary] ?? 0) === (other[HISTORY_SUM.secondary] ?? 0);
