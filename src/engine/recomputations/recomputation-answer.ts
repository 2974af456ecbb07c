import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { dateOf } from '../../domain/periods.ts';
import type { Recomputation, RecomputationDetails, RecomputedUser } from '../../domain/recomputation.ts';
import { COMPLETED } from '../../packed/record-fields.ts';
import type { RecomputedUserRow, StoredRecomputation } from '../../postgres/corrections/recomputations.ts';
import { shownFigures } from './figures.ts';
import type { UserPlan } from './planned-user.ts';

const timeOf = (date: Date | null): string | null => date?.toISOString() ?? null;

/** A recomputation as it is answered. */
export function recomputationAnswer(compiled: CompiledCatalog, job: StoredRecomputation): Recomputation {
  const { id, status, request, error, usersDone, usersTotal, figures, requestedBy } = job;
  const { applied = 0, reverted = 0, skipped = 0 } = figures;
  return {
    id,
    status,
    request,
    error,
    progress: { users: usersDone, of: usersTotal },
    figures: shownFigures(compiled, figures),
    outcome: { applied, reverted, skipped },
    requestedBy,
    requested: job.requested.toISOString(),
    planned: timeOf(job.planned),
    applied: timeOf(job.applied),
    reverted: timeOf(job.reverted),
  };
}

type Rows = RecomputedUserRow<UserPlan>[];

/** Some users of a plan as they are answered. */
export const samplesAnswer = (
  compiled: CompiledCatalog,
  { gaining, losing, left }: Record<'gaining' | 'losing' | 'left', Rows>,
): RecomputationDetails['samples'] => {
  const shown = (rows: Rows): RecomputedUser[] => rows.map((row) => userAnswer(compiled, row));
  return { gaining: shown(gaining), losing: shown(losing), left: shown(left) };
};

function userAnswer(compiled: CompiledCatalog, row: RecomputedUserRow<UserPlan>): RecomputedUser {
  const { userId, plan, applied } = row;
  const left = namesOf(compiled, applied?.skipped ?? []);
  return {
    userId,
    gained: namesOf(compiled, plan?.complete ?? []),
    lost: namesOf(compiled, plan?.revoke.map((each) => each[COMPLETED.achievement]) ?? []),
    points: Object.entries(plan?.totals ?? {}).flatMap(([no, [from, to]]) => {
      const system = compiled.pointsSystemsByNo.get(Number(no));
      return system === undefined ? [] : [{ key: system.key, from, to }];
    }),
    boards: (plan?.scores ?? []).flatMap(({ no, run, from, to, moves }) => {
      const board = compiled.leaderboardsByNo.get(no);
      return board === undefined ? [] : [{ key: board.key, run: dateOf(run), from, to, moves }];
    }),
    status: statusOf(row),
    reason:
      row.skipped ??
      (left.length === 0 ? null : `Changed since it was planned, and left as it was: ${left.join(', ')}.`),
  };
}

function statusOf({ plan, skipped, applied, isReverted }: RecomputedUserRow<UserPlan>): RecomputedUser['status'] {
  if (plan === null) return 'failed';
  if (skipped !== null) return 'skipped';
  if (isReverted) return 'reverted';
  return applied === null ? 'planned' : 'applied';
}

/** Keys of achievements, or IDs of those without a key. */
const namesOf = (compiled: CompiledCatalog, nos: readonly number[]): string[] =>
  nos.flatMap((no) => {
    const achievement = compiled.achievementsByNo.get(no);
    return achievement === undefined ? [] : [achievement.key ?? achievement.id];
  });
