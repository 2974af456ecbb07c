import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import { COMPENSATED } from '../../packed/record-fields.ts';
import type { AppliedChanges } from '../../postgres/persist/insert-recomputed.ts';

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
  /** No total may be lowered. */
  keeps: boolean;
}

/** The same as it is kept, with what is shown of it. */
export interface UserPlan extends Omit<PlannedUser, 'created' | 'restore'> {
  /** By system number: the total when it was planned, and what it becomes. */
  totals: Record<number, [from: number, to: number]>;
}

/** Whether a user gets something by a plan, and whether something goes. */
export function directionsOf({ complete, revoke, totals }: UserPlan): { gains: boolean; loses: boolean } {
  const moves = Object.values(totals);
  return {
    gains: complete.length > 0 || moves.some(([from, to]) => to > from),
    loses: revoke.length > 0 || moves.some(([from, to]) => to < from),
  };
}

/** What an application of the plan is to do; without what was deleted from the catalog since. */
export function toApply(compiled: CompiledCatalog, createdMs: number, plan: UserPlan): PlannedUser {
  const { complete, revoke, awards, keeps } = plan;
  return {
    created: createdMs,
    complete: complete.filter((no) => compiled.achievementsByNo.has(no)),
    restore: [],
    revoke,
    awards: awards.filter(({ award }) => compiled.pointsSystemsByNo.has(award[COMPENSATED.system])),
    keeps,
  };
}

/** What takes back what was done. */
export const toRevert = (createdMs: number, { completed, revoked, awards }: AppliedChanges): PlannedUser => ({
  created: createdMs,
  complete: [],
  restore: revoked,
  revoke: completed,
  awards: awards.map((award) => ({ award: opposite(award) })),
  keeps: false,
});

function opposite(award: Compensated): Compensated {
  const back = structuredClone(award);
  back[COMPENSATED.points] = -award[COMPENSATED.points];
  return back;
}
