/** The answer to a merge of two users. */
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { UserMerge } from '../../domain/administration/merge.ts';
import { decimalNumber } from '../../domain/decimal.ts';
import type { User } from '../../rules/user.ts';
import type { TwoUsers } from './merge-facts.ts';

interface Answered {
  from: string;
  into: string;
  dryRun: boolean;
  nowMs: number;
}

/** What the two had, and what the remaining user (`after`) has. Resources that were deleted are left out. */
export function mergeAnswer(
  compiled: CompiledCatalog,
  { from: of, into: other, keys, streaks }: TwoUsers,
  after: User,
  { from, into, dryRun, nowMs }: Answered,
): UserMerge {
  const { metricsByNo, pointsSystemsByNo } = compiled;
  const { lengths, freezes } = streaks;
  return {
    status: 'merged',
    dryRun,
    from,
    into,
    mergedAt: new Date(nowMs).toISOString(),
    metrics: compared(after.totals, metricsByNo, (no, who) => {
      const total = { of, other, after: { user: after } }[who].user.totals.get(no);
      return total === undefined ? 0 : decimalNumber(total);
    }),
    points: compared(
      after.points,
      pointsSystemsByNo,
      (no, who) => ({ of, other, after: { user: after } })[who].user.points.get(no) ?? 0,
    ),
    streak: { ...lengths, merged: streaks.length, basis: streaks.basis },
    freezes: {
      ...freezes,
      merged: streaks.basis === 'recomputed' ? after.freezes : Math.max(freezes.from, freezes.into),
    },
    achievements: achievementsOf(compiled, { of: of.user, other: other.user, after }),
    idempotencyKeys: keys.length,
  };
}

type Who = 'of' | 'other' | 'after';

/** The figures of each resource that the remaining user has a value of, by key. */
function compared(
  values: ReadonlyMap<number, unknown>,
  known: ReadonlyMap<number, { key: string }>,
  figure: (no: number, who: Who) => number,
): UserMerge['metrics'] {
  const entries = Array.from(values.keys(), (no) => [known.get(no)?.key, no] as const);
  return Object.fromEntries(
    entries.flatMap(([key, no]) =>
      key === undefined
        ? []
        : [[key, { from: figure(no, 'of'), into: figure(no, 'other'), merged: figure(no, 'after') }]],
    ),
  );
}

function achievementsOf(
  { achievementsByNo }: CompiledCatalog,
  { of, other, after }: Record<Who, User>,
): UserMerge['achievements'] {
  return Array.from(after.completions).flatMap(([no, atMs]) => {
    const achievement = achievementsByNo.get(no);
    if (achievement === undefined) return [];
    const [hasFrom, hasInto] = [of.completions.has(no), other.completions.has(no)];
    return {
      key: achievement.key,
      name: achievement.name,
      completedBy: hasFrom && hasInto ? 'both' : hasFrom ? 'from' : 'into',
      achievedAt: new Date(atMs).toISOString(),
    };
  });
}
