import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Compensated, PackedCompletion, RecomputedScore } from '../../packed/record.ts';
import { COMPENSATED, RECOMPUTED_SCORE } from '../../packed/record-fields.ts';
import type { AppliedChanges } from '../../postgres/persist/recomputed.ts';
import type { PlannedScore } from './planned-scores.ts';

/** What is to be done of a user: `lua/recompute_users.lua` uses these names. */
export interface PlannedUser {
  /** When the user was first seen, epoch ms. */
  created: number;
  /** Numbers of the achievements to complete now. */
  complete: number[];
  /** Completions that come back as they were. */
  restore: PackedCompletion[];
  revoke: PackedCompletion[];
  /** What is taken, negative where it is given; with an achievement: only if that changes now. */
  awards: { award: Compensated; achievement?: number }[];
  scores: ScoreMove[];
  /** No total may be lowered. */
  keeps: boolean;
  /** How many corrections of the user there are, if it matters: after another one nothing is done. */
  corrections?: number;
}

/**
 * What is added to a score in a run (its first day), beside what awards add. `group`: the group that it comes back to from another
 * one, `instead`; without: it goes to that of the user's attributes.
 */
export interface ScoreMove {
  no: number;
  run: number;
  whole: number;
  micros: number;
  group?: string;
  instead?: string;
}

/** The same as it is kept, with what is shown of it. */
export interface UserPlan extends Omit<PlannedUser, 'created' | 'restore' | 'scores'> {
  scores: PlannedScore[];
  /** By system number: the total when it was planned, and what it becomes. */
  totals: Record<number, [from: number, to: number]>;
}

/** Whether a user gets something by a plan, and whether something goes. */
export function directionsOf({ complete, revoke, totals, scores }: UserPlan): { gains: boolean; loses: boolean } {
  const moves = [...Object.values(totals), ...scores.map(({ from, to }) => [from, to] as const)];
  return {
    gains: complete.length > 0 || moves.some(([from, to]) => to > from),
    loses: revoke.length > 0 || moves.some(([from, to]) => to < from),
  };
}

/** What an application of the plan is to do; without what was deleted from the catalog since. */
export function toApply(compiled: CompiledCatalog, createdMs: number, plan: UserPlan): PlannedUser {
  const { complete, revoke, awards, scores, keeps, corrections } = plan;
  return {
    created: createdMs,
    complete: complete.filter((no) => compiled.achievementsByNo.has(no)),
    restore: [],
    revoke,
    awards: awards.filter(({ award }) => compiled.pointsSystemsByNo.has(award[COMPENSATED.system])),
    scores: scores.map(({ no, run, whole, micros }) => ({ no, run, whole, micros })),
    keeps,
    ...(corrections !== undefined && { corrections }),
  };
}

/** What takes back what was done. */
export const toRevert = (
  createdMs: number,
  { completed, revoked, awards, scores = [] }: AppliedChanges,
): PlannedUser => ({
  created: createdMs,
  complete: [],
  restore: revoked,
  revoke: completed,
  awards: awards.map((award) => ({ award: opposite(award) })),
  scores: scores.map(takenBack),
  keeps: false,
});

const takenBack = (score: RecomputedScore): ScoreMove => ({
  no: score[RECOMPUTED_SCORE.board],
  run: score[RECOMPUTED_SCORE.runDay],
  whole: -score[RECOMPUTED_SCORE.whole],
  micros: -score[RECOMPUTED_SCORE.micros],
  group: score[RECOMPUTED_SCORE.oldGroup],
  instead: score[RECOMPUTED_SCORE.group],
});

function opposite(award: Compensated): Compensated {
  const back = structuredClone(award);
  back[COMPENSATED.points] = -award[COMPENSATED.points];
  return back;
}
