import { type Static, Type } from 'typebox';
import { Nullable, Uuid } from '../schemas.ts';

export const JOB_KINDS = [
  'backdating',
  'leaderboard_filling',
  'recomputation_planning',
  'recomputation_applying',
  'recomputation_reverting',
  'webhook_resend',
  'verification',
  'event_retention',
  'tenant_spreading',
  'user_merge',
  'user_deletion',
] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** `running` from the first slice on. After an error, a job is retried and stays `waiting` or `running`; `failed` is permanent. */
export const JOB_STATUSES = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

const DateTime = Type.String({ format: 'date-time' });

export const ShownJob = Type.Object({
  id: Uuid,
  kind: Type.Enum([...JOB_KINDS]),
  subject: Nullable(
    Type.Object({
      kind: Type.Enum(['achievement', 'leaderboard', 'recomputation', 'webhook']),
      id: Uuid,
      name: Nullable(Type.String()),
    }),
  ),
  status: Type.Enum([...JOB_STATUSES]),
  progress: Type.Object({ done: Type.Integer(), total: Nullable(Type.Integer()) }),
  attempts: Type.Integer(),
  error: Nullable(Type.String()),
  mayCancel: Type.Boolean(),
  mayRetry: Type.Boolean(),
  requestedBy: Nullable(Type.String()),
  requested: DateTime,
  started: Nullable(DateTime),
  finished: Nullable(DateTime),
});
export type ShownJob = Static<typeof ShownJob>;

/** A job that spreads a tenant over shards, with a warning if that is of no use. */
export const SpreadJob = Type.Object({ ...ShownJob.properties, warning: Type.Optional(Type.String()) });
export type SpreadJob = Static<typeof SpreadJob>;
