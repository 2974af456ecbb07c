import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { NO_SCORE, turned } from '../../domain/leaderboard.ts';
import { dateOf } from '../../domain/periods.ts';
import type {
  Recomputation,
  RecomputationDetails,
  RecomputationFigures,
  RecomputedUser,
} from '../../domain/administration/recomputation.ts';
import { COMPLETED } from '../../packed/record-fields.ts';
import type {
  RecomputedUserRow,
  StoredFigures,
  StoredRecomputation,
} from '../../postgres/corrections/recomputations.ts';
import type { PlannedScore } from './planned-scores.ts';
import type { UserPlan } from './planned-user.ts';
import type { PlannedSlice } from './slice-proposal.ts';

const timeOf = (date: Date | null): string | null => date?.toISOString() ?? null;

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

export const samplesAnswer = (
  compiled: CompiledCatalog,
  { gaining, losing, left }: Record<'gaining' | 'losing' | 'left', Rows>,
): RecomputationDetails['samples'] => {
  const shown = (rows: Rows): RecomputedUser[] => rows.map((row) => userAnswer(compiled, row));
  return { gaining: shown(gaining), losing: shown(losing), left: shown(left) };
};

function userAnswer(compiled: CompiledCatalog, row: RecomputedUserRow<UserPlan>): RecomputedUser {
  const { userId, plan, applied } = row;
  const skipped = namesOf(compiled, applied?.skipped ?? []);
  return {
    userId,
    gained: namesOf(compiled, gainedBy(plan)),
    lost: namesOf(compiled, lostBy(plan)),
    points: Object.entries(plan?.totals ?? {}).flatMap(([no, [from, to]]) => {
      const system = compiled.pointsSystemsByNo.get(Number(no));
      return system === undefined ? [] : [{ key: system.key, from, to }];
    }),
    boards: (plan?.scores ?? []).flatMap(({ no, run, from, to, moves }) => {
      const board = compiled.leaderboardsByNo.get(no);
      if (board === undefined) return [];
      const valueOf = (score: number): number | null => (score === NO_SCORE ? null : turned(board, score));
      return [{ key: board.key, run: dateOf(run), from: valueOf(from), to: valueOf(to), moves }];
    }),
    status: statusOf(row),
    reason:
      row.skipped ??
      (skipped.length === 0 ? null : `Changed since it was planned, and left unchanged: ${skipped.join(', ')}.`),
  };
}

/** Numbers of the achievements that a user completes, or loses; a repeating one counts once. */
const gainedBy = (plan: UserPlan | null): number[] => [
  ...new Set([...(plan?.complete ?? []), ...(plan?.periods ?? []).map(({ no }) => no)]),
];
const lostBy = (plan: UserPlan | null): number[] => [
  ...new Set(plan?.revoke.map((each) => each[COMPLETED.achievement])),
];

function statusOf({ plan, skipped, applied, isReverted }: RecomputedUserRow<UserPlan>): RecomputedUser['status'] {
  if (plan === null) return 'failed';
  if (skipped !== null) return 'skipped';
  if (isReverted) return 'reverted';
  return applied === null ? 'planned' : 'applied';
}

/** Keys of achievements, or IDs if they have no key. */
const namesOf = (compiled: CompiledCatalog, nos: readonly number[]): string[] =>
  nos.flatMap((no) => {
    const achievement = compiled.achievementsByNo.get(no);
    return achievement === undefined ? [] : [achievement.key ?? achievement.id];
  });

/** Adds the figures of another slice of users to those of a plan. */
export function withSlice(figures: StoredFigures, { users, rows }: PlannedSlice): StoredFigures {
  const { users: before = 0, gaining = 0, losing = 0, failed = 0 } = figures;
  const achievements = structuredClone(figures.achievements ?? {});
  const points = structuredClone(figures.points ?? {});
  const boards = structuredClone(figures.boards ?? {});
  for (const { plan } of rows) {
    for (const no of gainedBy(plan)) (achievements[no] ??= [0, 0])[0] += 1;
    for (const no of lostBy(plan)) (achievements[no] ??= [0, 0])[1] += 1;
    for (const [no, [from, to]] of Object.entries(plan?.totals ?? {})) {
      const of = (points[Number(no)] ??= [0, 0, 0, 0]);
      if (to > from) of[0] += 1;
      else of[1] += 1;
      of[2] += Math.max(0, to - from);
      of[3] += Math.max(0, from - to);
    }
    countScores(boards, plan?.scores ?? []);
  }
  return {
    ...figures,
    users: before + users,
    gaining: gaining + rows.filter(({ gains }) => gains).length,
    losing: losing + rows.filter(({ loses }) => loses).length,
    changed: (figures.changed ?? 0) + rows.filter(({ plan }) => plan !== null).length,
    failed: failed + rows.filter(({ plan }) => plan === null).length,
    achievements,
    points,
    boards,
  };
}

/** Counts a user once for each board, however many runs. */
function countScores(boards: NonNullable<StoredFigures['boards']>, scores: readonly PlannedScore[]): void {
  for (const no of new Set(scores.map((score) => score.no))) {
    const own = scores.filter((score) => score.no === no);
    const of = (boards[no] ??= [0, 0, 0]);
    if (own.some(({ from, to }) => to > from)) of[0] += 1;
    if (own.some(({ from, to }) => to < from)) of[1] += 1;
    if (own.some(({ moves }) => moves)) of[2] += 1;
  }
}

/** The figures to show, without resources deleted from the catalog since. */
function shownFigures(compiled: CompiledCatalog, figures: StoredFigures): RecomputationFigures {
  const { users = 0, gaining = 0, losing = 0, failed = 0 } = figures;
  return {
    users,
    gaining,
    losing,
    unchanged: users - (figures.changed ?? 0) - failed,
    failed,
    achievements: Object.entries(figures.achievements ?? {}).flatMap(([no, [gains, loses]]) => {
      const achievement = compiled.achievementsByNo.get(Number(no));
      if (achievement === undefined) return [];
      const { id, key, name } = achievement;
      return [{ id, key, name, gaining: gains, losing: loses }];
    }),
    points: Object.entries(figures.points ?? {}).flatMap(([no, [gains, loses, given, taken]]) => {
      const system = compiled.pointsSystemsByNo.get(Number(no));
      if (system === undefined) return [];
      const { id, key, name } = system;
      return [{ id, key, name, gaining: gains, losing: loses, given, taken }];
    }),
    boards: Object.entries(figures.boards ?? {}).flatMap(([no, [gains, loses, moves]]) => {
      const board = compiled.leaderboardsByNo.get(Number(no));
      if (board === undefined) return [];
      const { id, key, name } = board;
      return [{ id, key, name, gaining: gains, losing: loses, moving: moves }];
    }),
  };
}
