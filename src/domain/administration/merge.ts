import { type Static, Type } from 'typebox';
import { Nullable } from '../schemas.ts';
import { UserId } from '../user.ts';

export const MergeUsersRequest = Type.Object({
  from: UserId,
  into: UserId,
  /** Computes the answer and changes nothing. */
  dryRun: Type.Optional(Type.Boolean({ default: false })),
  /** Whether the merged user may leave the control group, or enter it. */
  acrossControlGroup: Type.Optional(Type.Boolean({ default: false })),
});
export type MergeUsersRequest = Static<typeof MergeUsersRequest>;

/** What each of the two had, and what the remaining user has. */
const Merged = Type.Object({ from: Type.Number(), into: Type.Number(), merged: Type.Number() });

const MergedAchievement = Type.Object({
  key: Nullable(Type.String()),
  name: Type.String(),
  /** Who had it. */
  completedBy: Type.Enum(['from', 'into', 'both']),
  /** When the remaining user completed it: the earlier time; of a repeating achievement, the latest. */
  achievedAt: Type.String({ format: 'date-time' }),
});

export const UserMerge = Type.Object({
  /** `unchanged`: the users were merged before; the answer is that of the first request. */
  status: Type.Enum(['merged', 'unchanged']),
  dryRun: Type.Boolean(),
  /** The user who is gone, and whose ID stands for the other. */
  from: Type.String(),
  /** The user who remains: `into` of the request, or the user for whom that ID stands. */
  into: Type.String(),
  mergedAt: Type.String({ format: 'date-time' }),
  /** Totals by metric, points by points system. */
  metrics: Type.Record(Type.String(), Merged),
  points: Type.Record(Type.String(), Merged),
  streak: Type.Object({
    ...Merged.properties,
    /** `recomputed` from the events of both, unless the streak of one of them is longer. */
    basis: Type.Enum(['recomputed', 'from', 'into']),
  }),
  freezes: Merged,
  achievements: Type.Array(MergedAchievement),
  /** Used idempotency keys that the remaining user takes over. */
  idempotencyKeys: Type.Integer(),
});
export type UserMerge = Static<typeof UserMerge>;
