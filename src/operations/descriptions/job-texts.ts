import { textsOf } from './text-names.ts';

const FIELDS: Readonly<Record<string, string>> = {
  kind: 'What the job does.',
  status:
    '`waiting`: not started. `running`: started; also while it waits after an error. `failed`: it cannot be completed; `error` has the reason. `cancelled`: by an administrator.',
  subject:
    'The subject of the job; null: all data of the tenant for a `verification`, `tenant_spreading`, `user_merge` and `user_deletion`, otherwise the whole installation.',
  progress: 'Progress of the job.',
  attempts: 'Failures since the last success; the job retries.',
  error: 'The last failure, until a step succeeds; for a `failed` job, why it cannot be completed.',
  mayCancel: 'Whether the job can be cancelled now.',
  mayRetry: 'Whether the job can be retried now.',
  requestedBy: 'The readable part of the key that requested it; null: an edit of the configuration, or the schedule.',
  requested: 'When it was requested.',
  started: 'When a worker started it; null: not yet.',
  finished: 'When it was completed, failed or was cancelled; null: not yet.',
};

const VERIFICATION_FIELDS: Readonly<Record<string, string>> = {
  ...FIELDS,
  id: 'ID of the verification, and of its job.',
  status:
    '`waiting`: not started. `running`: started; also while it waits after an error. `done`: `differences` is final. `cancelled`: by an administrator.',
  progress: 'Progress of the verification.',
  shards:
    'The shards of the tenant. The key of a difference begins with its shard, which `laurel rebuild --shard` repairs.',
  differences: 'Number of differences found so far; 0 when `done`: Redis and Postgres agree.',
  endedEarly: 'Whether it ended because it had found 1,000 differences.',
  error: 'The last failure, until a step succeeds.',
  requestedBy: 'The readable part of the key that requested it.',
};

export const JOB_TEXTS: Readonly<Record<string, string>> = {
  'subject.id': 'ID of the subject.',
  'subject.name': 'Current name of the subject; null: it has none.',
  'progress.done': 'Processed users, messages, events or keys.',
  'progress.total': 'How many there are, an estimate for a `verification`; null: not counted yet.',
  ...textsOf('admin_(jobs_(list|get|cancel|retry)|spread_update)', FIELDS),
  'admin_spread_get.shards': 'Number of shards that hold users of the tenant.',
  'admin_spread_update.shards': 'Number of shards that are to hold users of the tenant: a power of two.',
  'admin_spread_update.warning': 'Why the number is of no use; absent if it is useful.',
  converting: 'Whether users are moved to other shards now; requests about the tenant get 503 meanwhile.',
  'subject.kind': 'Kind of the subject.',
  ...textsOf('admin_verifications_(list|create|get)', VERIFICATION_FIELDS),
  found: 'The differences found, ordered by key. Those about a user go when the user is deleted.',
  'found.kind': 'What differs.',
  'found.key': 'The Redis key.',
  'found.part': 'The member or field that differs; for a user, the names of the fields; empty: the whole key.',
  'found.userId': 'ID of the user concerned; null: none.',
  'found.redis': 'The value in Redis, shortened.',
  'found.postgres': 'The value according to Postgres, shortened.',
};
