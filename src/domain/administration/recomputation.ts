import { type Static, Type } from 'typebox';
import { RECOMPUTED_KINDS } from '../kinds.ts';
import { LocalDate, Nullable, Uuid } from '../schemas.ts';

/** Final or waiting for a decision: `planned`, `applied`, `reverted`, `cancelled` and `failed`. */
export const RECOMPUTATION_STATUSES = [
  'planning',
  'planned',
  'applying',
  'applied',
  'reverting',
  'reverted',
  'cancelled',
  'failed',
] as const;
export type RecomputationStatus = (typeof RECOMPUTATION_STATUSES)[number];

const request = {
  what: Type.Array(Type.Enum([...RECOMPUTED_KINDS]), { minItems: 1, uniqueItems: true }),
  since: Type.Optional(Nullable(LocalDate)),
  cohort: Type.Optional(Nullable(Type.Object({ userAttributes: Type.Optional(Type.String()) }))),
  mayRevoke: Type.Optional(Nullable(Type.Boolean({ default: false }))),
  dryRun: Type.Optional(Nullable(Type.Boolean({ default: true }))),
};

export const RecomputationRequest = Type.Object(request);
export type RecomputationRequest = Static<typeof RecomputationRequest>;

/** The request with defaults filled in. */
export const RecomputationAsked = Type.Object({
  what: request.what,
  since: Nullable(LocalDate),
  cohort: Type.Object({ userAttributes: Nullable(Type.String()) }),
  mayRevoke: Type.Boolean(),
  dryRun: Type.Boolean(),
});
export type RecomputationAsked = Static<typeof RecomputationAsked>;

const AchievementFigures = Type.Object({
  id: Type.String(),
  key: Nullable(Type.String()),
  name: Type.String(),
  gaining: Type.Integer(),
  losing: Type.Integer(),
});

/** For one points system: how many users gain and lose points, and the sum of each. */
const PointsFigures = Type.Object({
  id: Type.String(),
  key: Type.String(),
  name: Type.String(),
  gaining: Type.Integer(),
  losing: Type.Integer(),
  given: Type.Integer(),
  taken: Type.Integer(),
});

/** For one leaderboard's runs that are not final: how many users get a better score, a worse score, or another group. */
const BoardFigures = Type.Object({
  id: Type.String(),
  key: Type.String(),
  name: Type.String(),
  gaining: Type.Integer(),
  losing: Type.Integer(),
  moving: Type.Integer(),
});

export const RecomputationFigures = Type.Object({
  users: Type.Integer(),
  gaining: Type.Integer(),
  losing: Type.Integer(),
  unchanged: Type.Integer(),
  failed: Type.Integer(),
  achievements: Type.Array(AchievementFigures),
  points: Type.Array(PointsFigures),
  boards: Type.Array(BoardFigures),
});
export type RecomputationFigures = Static<typeof RecomputationFigures>;

export const RecomputedUser = Type.Object({
  userId: Type.String(),
  gained: Type.Array(Type.String()),
  lost: Type.Array(Type.String()),
  points: Type.Array(Type.Object({ key: Type.String(), from: Type.Integer(), to: Type.Integer() })),
  boards: Type.Array(
    Type.Object({
      key: Type.String(),
      run: LocalDate,
      // `null`: no score, on boards on which 0 is a score.
      from: Nullable(Type.Number()),
      to: Nullable(Type.Number()),
      moves: Type.Boolean(),
    }),
  ),
  status: Type.Enum(['planned', 'applied', 'reverted', 'skipped', 'failed']),
  reason: Nullable(Type.String()),
});
export type RecomputedUser = Static<typeof RecomputedUser>;

export const Recomputation = Type.Object({
  id: Uuid,
  status: Type.Enum([...RECOMPUTATION_STATUSES]),
  request: RecomputationAsked,
  error: Nullable(Type.String()),
  progress: Type.Object({ users: Type.Integer(), of: Nullable(Type.Integer()) }),
  figures: RecomputationFigures,
  outcome: Type.Object({ applied: Type.Integer(), reverted: Type.Integer(), skipped: Type.Integer() }),
  requestedBy: Type.String(),
  requested: Type.String({ format: 'date-time' }),
  planned: Nullable(Type.String({ format: 'date-time' })),
  applied: Nullable(Type.String({ format: 'date-time' })),
  reverted: Nullable(Type.String({ format: 'date-time' })),
});
export type Recomputation = Static<typeof Recomputation>;

/** Includes up to 20 users each of those who gain, those who lose, and those with a problem. */
export const RecomputationDetails = Type.Object({
  ...Recomputation.properties,
  samples: Type.Object({
    gaining: Type.Array(RecomputedUser),
    losing: Type.Array(RecomputedUser),
    left: Type.Array(RecomputedUser),
  }),
});
export type RecomputationDetails = Static<typeof RecomputationDetails>;
