import { type Static, Type } from 'typebox';
import { Nullable, Uuid } from '../schemas.ts';
import { JOB_STATUSES } from './job.ts';

/** A verification ends when it has found this many differences. */
export const MOST_DIFFERENCES = 1_000;

/** What a difference between Redis and Postgres concerns. */
export const DIFFERENCE_KINDS = [
  'user',
  'leaderboard',
  'leaderboardGroups',
  'leaderboardTeams',
  'counter',
  'points',
  'idempotencyKey',
  'quarantine',
  'mergedUsers',
  'claims',
  'leagueCohort',
  'outbox',
] as const;

export const VerificationDifference = Type.Object({
  kind: Type.Enum([...DIFFERENCE_KINDS]),
  key: Type.String(),
  part: Type.String(),
  userId: Nullable(Type.String()),
  redis: Type.String(),
  postgres: Type.String(),
});
export type VerificationDifference = Static<typeof VerificationDifference>;

const DateTime = Type.String({ format: 'date-time' });

/** A comparison of what Redis and Postgres hold of a tenant. */
export const Verification = Type.Object({
  id: Uuid,
  status: Type.Enum([...JOB_STATUSES]),
  progress: Type.Object({ done: Type.Integer(), total: Nullable(Type.Integer()) }),
  shards: Type.Array(Type.Integer()),
  differences: Type.Integer(),
  endedEarly: Type.Boolean(),
  error: Nullable(Type.String()),
  requestedBy: Nullable(Type.String()),
  requested: DateTime,
  started: Nullable(DateTime),
  finished: Nullable(DateTime),
});
export type Verification = Static<typeof Verification>;

export const VerificationDetails = Type.Object({
  ...Verification.properties,
  found: Type.Array(VerificationDifference),
});
export type VerificationDetails = Static<typeof VerificationDetails>;
