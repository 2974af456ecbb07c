import { Type, type Static } from 'typebox';
import { RECOMPUTED_KINDS } from './recomputed-kinds.ts';
import { LocalDate, Nullable, Uuid } from './schemas.ts';

/** `planned`, `applied`, `reverted`, `cancelled` and `failed` are at rest. */
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

/** What a recomputation is asked for. */
export const RecomputationRequest = Type.Object(request);
export type RecomputationRequest = Static<typeof RecomputationRequest>;

/** The same, with what was left out. */
export const RecomputationAsked = Type.Object({
  what: request.what,
  since: Nullable(LocalDate),
  cohort: Type.Object({ userAttributes: Nullable(Type.String()) }),
  mayRevoke: Type.Boolean(),
  dryRun: Type.Boolean(),
});
export type RecomputationAsked = Static<typeof RecomputationAsked>;

/** Of one achievement: how many users get it, and lose it. */
const AchievementFigures = Type.Object({
  id: Type.String(),
  key: Nullable(Type.String()),
  name: Type.String(),
  gaining: Type.Integer(),
  losing: Type.Integer(),
});

/** Of one points system: how many users have more by it, and less, and the sums of both. */
const PointsFigures = Type.Object({
  id: Type.String(),
  key: Type.String(),
  name: Type.String(),
  gaining: Type.Integer(),
  losing: Type.Integer(),
  given: Type.Integer(),
  taken: Type.Integer(),
});

/** Of one leaderboard, in its runs that are not final: how many users have a higher score, a lower one, and another group. */
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

/** What is planned of one user, and what became of it. */
export const RecomputedUser = Type.Object({
  userId: Type.String(),
  gained: Type.Array(Type.String()),
  lost: Type.Array(Type.String()),
  points: Type.Array(Type.Object({ key: Type.String(), from: Type.Integer(), to: Type.Integer() })),
  boards: Type.Array(
    Type.Object({ key: Type.String(), run: LocalDate, from: Type.Number(), to: Type.Number(), moves: Type.Boolean() }),
  ),
  status: Type.Enum(['planned', 'applied', 'reverted', 'skipped', 'failed']),
  reason: Nullable(Type.String()),
});
export type RecomputedUser = Static<typeof RecomputedUser>;

/** A recomputation as it stands. */
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

/** The same with some of the users: 20 at most of those who gain, who lose, and of whom something could not be done. */
export const RecomputationDetails = Type.Object({
  ...Recomputation.properties,
  samples: Type.Object({
    gaining: Type.Array(RecomputedUser),
    losing: Type.Array(RecomputedUser),
    left: Type.Array(RecomputedUser),
  }),
});
export type RecomputationDetails = Static<typeof RecomputationDetails>;
