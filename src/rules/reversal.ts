import { clamped, type Decimal } from '../domain/decimal.ts';
import { COMPENSATED, COMPLETED } from '../packed/record-fields.ts';
import type { Compensated, PackedCompletion, RecordedSettlement, Shortfall } from '../packed/record.ts';
import { qualifies } from './achievements.ts';
import { compensate } from './compensation.ts';
import { takeReplay, type ReplayedStreaks } from './event.ts';
import {
  groupOf,
  isSamePlace,
  putScore,
  type RunScore,
  type ScoreChange,
  scoreBoards,
  scoreIn,
} from './leaderboards.ts';
import { dropMetadataOf } from './metadata.ts';
import type { Plan, PlanAchievement, PlanBoard } from './plan.ts';
import { type PointsMove, reverseLevels } from './points.ts';
import { admit } from './profile.ts';
import { addCompletion, keptPeriod, removeCompletion } from './quests.ts';
import { isRefusal, type Refusal } from './refusal.ts';
import { frequencyOf, joinSettlements, localDayOf, type Settlements, settleUser } from './streaks.ts';
import { isZero, leavesRange, minus, plus, takeFromTotal } from './sums.ts';
import { correct, type TeamMove } from './teams.ts';
import { dayOfUser, secondOfUser, type User } from './user.ts';

/*
 * A reversal takes an event back as if it had never happened; reversing a reversal restores the event. What depends on the user's history
 * is computed before (`src/engine/corrections/reversals.ts`), and applied here if the user has not changed since.
 */

/** What to take back, or to restore. */
export interface Reversal {
  /** 32 hex digits. `root`: the original event. `reversed`: that event, or its last reversal. */
  root: string;
  reversed: string;
  /** True if the original event stops counting; false if it counts again. */
  voids: boolean;
  metric: number;
  /** The value of the reversed event. */
  value: Decimal;
  /** When the original event happened, and the user's local day then. */
  occurredMs: number;
  occurredDay: number;
  /** The local day of its awards. A late event awards on the day on which it arrives. */
  day: number;
  /** Event attributes as JSON; `''` for none. */
  attributes: string;
  /** The user's streaks and freezes after the reversal, and the stored changes that no longer hold. */
  replayed: ReplayedStreaks;
  superseded: string[];
  repairs: RecordedSettlement[];
  /** Numbers of the achievements and triggers that counted the event. */
  counted: readonly number[];
  /** Periods of repeating achievements in which the event counted. */
  quests: readonly { no: number; period: number }[];
  /** Points to take; negative if they are given back. */
  awards: readonly Compensated[];
  /** IDs of awards that stay unchanged because another reversal in force has already taken them. */
  held: readonly string[];
  /** Maximum points of the systems, by number. */
  limits: Readonly<Record<number, number>>;
  /** Each before those that need it. */
  revoked: readonly Revocation[];
  restored: readonly PackedCompletion[];
  /** Changes in the non-final runs in which the event counted. */
  boards: readonly BoardCorrection[];
}

/**
 * An achievement to revoke unless the user still qualifies, and its awards that the event itself does not include. Of a repeating
 * one whose period no longer suffices: that completion, and the time of the user's latest other one (epoch ms).
 */
export interface Revocation {
  achievement: Pick<PlanAchievement, 'no'>;
  awards: readonly Compensated[];
  period?: PackedCompletion;
  latest?: number;
}

/** A change of a user's score in a run. */
export interface BoardCorrection {
  board: PlanBoard;
  /** First day of the run. */
  run: number;
  /** On leaderboards of the metric's highest sum: the change, and when the event was applied. */
  earned?: Decimal;
  atMs?: number;
  /** On other leaderboards of the metric: the score that remains. */
  score?: RunScore;
  /** On leaderboards of points: each award whose points are taken or given back (32 hex digits), and its time. */
  awards?: readonly { id: string; atMs: number }[];
}

/** What a reversal changed. The user has been changed in place. */
export interface ReversalOutcome {
  /** The user's local day. */
  day: number;
  settlements: Settlements | null;
  /** Length of the streak that the reversal ended; `null` if it ended none. */
  endedStreak: number | null;
  total: Decimal;
  ledgers: PointsMove[];
  shortfalls: Shortfall[];
  /** All awards that were to be taken, those of revoked achievements included. */
  awards: Compensated[];
  revoked: PackedCompletion[];
  restored: PackedCompletion[];
  /** Achievements that the user no longer has at all, or has again. */
  completions: [achievement: number, added: 1 | -1][];
  scores: ScoreChange[];
}

/** Applies a reversal. */
export function reverse(user: User, reversal: Reversal, plan: Plan, nowMs: number): ReversalOutcome | Refusal {
  const streak = user.streaks[frequencyOf(plan.streak)];
  const lengthBefore = streak.length;
  // The replay includes everything settled until now. The user's current zone stays.
  takeReplay(user, reversal.replayed);
  const admission = admit(user, null, plan, nowMs);
  if (isRefusal(admission)) return admission;
  const day = dayOfUser(user, nowMs);
  const settled = settleUser(user, plan.streak, localDayOf(plan, day), admission.left);
  const { length } = user.streaks[frequencyOf(plan.streak)];

  const { metric, value } = reversal;
  takeFromTotal(user.totals, metric, value);
  const total = user.totals.get(metric) ?? { whole: 0, micros: 0 };
  const opposite = minus({ whole: 0, micros: 0 }, value);
  if (leavesRange(total, opposite)) return { refusal: 'outOfRange', metric, sum: 'total' };
  for (const no of reversal.counted) takeFromTotal(user.counts, no, value);
  for (const { no, period } of reversal.quests) {
    const kept = keptPeriod(user, no, period);
    if (kept !== undefined) Object.assign(kept, clamped(plus(kept, opposite)));
  }

  const { completions, ...changed } = changeCompletions(user, reversal);
  const { moves, shortfalls, movedBy } = compensate(user, changed.awards, reversal);
  const paidAt = changed.awards
    .filter((award) => !reversal.held.includes(award[COMPENSATED.award]))
    .map((award) => ({ trigger: award[COMPENSATED.trigger], atMs: award[COMPENSATED.atMs] ?? 0 }));
  reverseLevels(user, plan.systems, { awards: paidAt, voids: reversal.voids });
  const second = secondOfUser(user, nowMs);
  const scores = scoreBoards(user, { plan, nowMs, day, second, ledgers: [], length, event: null }).changes;
  dropMetadataOf(user, reversal.root);
  scores.push(...reversal.boards.flatMap((each) => correctScore(user, each, movedBy)));
  user.corrections += 1;
  return {
    day,
    settlements: joinSettlements(reversal.replayed.settlements, settled),
    endedStreak: length === 0 && lengthBefore > 0 ? lengthBefore : null,
    total,
    ledgers: moves,
    shortfalls,
    ...changed,
    completions,
    scores,
  };
}

type CompletionChanges = Pick<ReversalOutcome, 'awards' | 'revoked' | 'restored' | 'completions'>;

/** Revokes and restores achievements. Keeps one for which the user still qualifies, with its awards. */
function changeCompletions(user: User, { awards, revoked, restored }: Reversal): CompletionChanges {
  const changes: CompletionChanges = { awards: [...awards], revoked: [], restored: [], completions: [] };
  for (const { achievement, awards: ofAchievement, period, latest } of revoked) {
    const { no } = achievement;
    const completedMs = user.completions.get(no);
    if (period !== undefined) {
      if (removeCompletion(user, period, latest)) changes.completions.push([no, -1]);
      changes.revoked.push(period);
    } else if (completedMs !== undefined && !qualifies(achievement as PlanAchievement, user)) {
      user.completions.delete(no);
      changes.completions.push([no, -1]);
      changes.revoked.push([no, completedMs]);
    } else continue;
    changes.awards.push(...ofAchievement);
  }
  for (const each of restored) {
    const isFirst = restoreCompletion(user, each);
    if (isFirst === null) continue;
    changes.restored.push(each);
    if (isFirst) changes.completions.push([each[COMPLETED.achievement], 1]);
  }
  return changes;
}

/** Restores a completion. Returns whether it is the user's only one; `null` if the user has it. */
export function restoreCompletion(user: User, completion: PackedCompletion): boolean | null {
  const no = completion[COMPLETED.achievement];
  const atMs = completion[COMPLETED.atMs];
  const period = completion[COMPLETED.period];
  if (period !== undefined) {
    const kept = keptPeriod(user, no, period) ?? null;
    return kept?.done === true ? null : addCompletion(user, no, kept, atMs);
  }
  if (user.completions.has(no)) return null;
  user.completions.set(no, atMs);
  return true;
}

/**
 * Adds to a user's score in a run that is not final, which need not be the current one, or replaces it. Adds nothing in a run without a
 * score of the user: it is final, or older than the runs that the state holds. Takes from the team in which the user was at the time.
 */
function correctScore(user: User, correction: BoardCorrection, movedBy: ReadonlyMap<string, number>): ScoreChange | [] {
  const { board, run: runDay, score } = correction;
  const before = scoreIn(user, { board: board.no, runDay });
  const group = before?.group ?? groupOf(board, user) ?? '';
  let teams: TeamMove[] = [];
  let next: RunScore;
  if (score !== undefined) next = score;
  else {
    const parts = partsOf(correction, movedBy);
    const earned = parts.reduce<Decimal>((sum, part) => plus(sum, part.earned), { whole: 0, micros: 0 });
    if (before === undefined || isZero(earned)) return [];
    if (board.team !== undefined) teams = parts.flatMap((part) => correct(user, board, { runDay, ...part }) ?? []);
    next = { runDay, ...clamped(plus(before, earned)), reached: null };
  }
  const put = putScore(user, board, group, next);
  // A hidden user, or one who lacks a value of the breakdown, is not ranked.
  if (isSamePlace(put) || user.hidden !== 0 || (group === '' && board.groups !== undefined)) return [];
  return { ...put, board, runDay, group, oldGroup: group, onlyGroup: false, teams: teams.length === 0 ? null : teams };
}

/** What a correction adds, with the times to which it belongs. */
const partsOf = (
  { earned = { whole: 0, micros: 0 }, atMs = 0, awards = [] }: BoardCorrection,
  movedBy: ReadonlyMap<string, number>,
): { earned: Decimal; atMs: number }[] =>
  [
    { earned, atMs },
    ...awards.map((award) => ({ earned: { whole: movedBy.get(award.id) ?? 0, micros: 0 }, atMs: award.atMs })),
  ].filter((part) => !isZero(part.earned));
