import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Compensated, PackedCompletion, RecomputedScore } from '../../packed/record.ts';
import { COMPENSATED, COMPLETED, RECOMPUTED_SCORE } from '../../packed/record-fields.ts';
import type { AppliedChanges } from '../../postgres/persist/recomputed.ts';
import type { PlannedUser, ScoreMove } from '../../rules/recomputation.ts';
import type { PlannedScore } from './planned-scores.ts';

export interface UserPlan extends Omit<PlannedUser, 'created' | 'restore' | 'scores'> {
  scores: PlannedScore[];
  /** By system number: the total at planning time, and the proposed one. */
  totals: Record<number, [from: number, to: number]>;
}

/** Whether a plan gives a user something, and whether it takes something. */
export function directionsOf({ complete, periods = [], revoke, totals, scores }: UserPlan): {
  gains: boolean;
  loses: boolean;
} {
  const moves = [...Object.values(totals), ...scores.map(({ from, to }) => [from, to] as const)];
  return {
    gains: complete.length + periods.length > 0 || moves.some(([from, to]) => to > from),
    loses: revoke.length > 0 || moves.some(([from, to]) => to < from),
  };
}

/** The changes that applying a plan makes, without resources deleted from the catalog since. */
export function toApply(compiled: CompiledCatalog, createdMs: number, plan: UserPlan): PlannedUser {
  const { complete, periods, latest, revoke, awards, scores, keeps, corrections } = plan;
  return {
    created: createdMs,
    complete: complete.filter((no) => compiled.achievementsByNo.has(no)),
    ...(periods !== undefined && { periods: periods.filter(({ no }) => compiled.achievementsByNo.has(no)) }),
    ...(latest !== undefined && { latest }),
    restore: [],
    revoke,
    awards: awards.filter(({ award }) => compiled.pointsSystemsByNo.has(award[COMPENSATED.system])),
    scores: scores.map(({ no, run, whole, micros, was, becomes }) => ({
      no,
      run,
      whole,
      micros,
      ...(was !== undefined && becomes !== undefined && { was, becomes }),
    })),
    keeps,
    ...(corrections !== undefined && { corrections }),
  };
}

/** A user's completions, and the number of corrections at that time. */
export interface CompletionsNow {
  completions: readonly PackedCompletion[];
  corrections: number;
}

/** The changes that revert what was applied. `now`: of the user, if repeating achievements were changed. */
export function toRevert(
  compiled: CompiledCatalog,
  { createdMs, applied }: { createdMs: number; applied: AppliedChanges | null },
  now: CompletionsNow | undefined,
): PlannedUser {
  const { completed, revoked, awards, scores = [], atMs } = applied!;
  const { completions = [], corrections } = now ?? {};
  const changed = new Set([...completed, ...revoked].map((each) => each[COMPLETED.achievement]));
  const paidFor = (award: Compensated): number => {
    const trigger = compiled.triggersByNo.get(award[COMPENSATED.trigger]);
    return compiled.achievementsById.get(trigger?.achievementId ?? '')?.no ?? 0;
  };
  // The user's state keeps only the latest periods. A late event may have completed another one again.
  const restore = revoked.filter(
    (each) => !each[COMPLETED.period] || !completions.some((other) => isSame(each, other)),
  );
  return {
    created: createdMs,
    complete: [],
    restore,
    // A later recomputation may have taken it back.
    revoke: completed.filter(
      (each) =>
        !each[COMPLETED.period] ||
        completions.some((other) => isSame(each, other) && each[COMPLETED.atMs] === other[COMPLETED.atMs]),
    ),
    ...(now !== undefined && { latest: latestExcept([...completions, ...restore], completed) }),
    ...(corrections !== undefined && { corrections }),
    appliedMs: atMs,
    awards: awards.map((award) => ({
      award: opposite(award),
      ...(changed.has(paidFor(award)) && { achievement: paidFor(award) }),
    })),
    scores: scores.map(takenBack),
    keeps: false,
  };
}

const isSame = (one: PackedCompletion, other: PackedCompletion): boolean =>
  one[COMPLETED.achievement] === other[COMPLETED.achievement] && one[COMPLETED.period] === other[COMPLETED.period];

/** When each repeating achievement was last completed (epoch ms), by number, without some completions. */
export function latestExcept(
  completions: readonly PackedCompletion[],
  except: readonly PackedCompletion[],
): Record<number, number> {
  const nameOf = (each: PackedCompletion): string => `${each[COMPLETED.achievement]} ${each[COMPLETED.period]}`;
  const excepted = new Set(except.map(nameOf));
  const latest: Record<number, number> = {};
  for (const each of completions) {
    const no = each[COMPLETED.achievement];
    if (each[COMPLETED.period] !== undefined && !excepted.has(nameOf(each)))
      latest[no] = Math.max(latest[no] ?? 0, each[COMPLETED.atMs]);
  }
  return latest;
}

const takenBack = (score: RecomputedScore): ScoreMove => ({
  no: score[RECOMPUTED_SCORE.board],
  run: score[RECOMPUTED_SCORE.runDay],
  whole: -score[RECOMPUTED_SCORE.whole],
  micros: -score[RECOMPUTED_SCORE.micros],
  group: score[RECOMPUTED_SCORE.oldGroup],
  instead: score[RECOMPUTED_SCORE.group],
  ...(score[RECOMPUTED_SCORE.is] !== undefined && {
    was: score[RECOMPUTED_SCORE.is],
    becomes: score[RECOMPUTED_SCORE.was]!,
  }),
});

function opposite(award: Compensated): Compensated {
  const back = structuredClone(award);
  back[COMPENSATED.points] = -award[COMPENSATED.points];
  return back;
}
