const FIELDS: Readonly<Record<string, string>> = {
  kind: 'What the job does.',
  status:
    '`waiting`: not begun. `running`: begun, also while it waits after an error. `failed`: it cannot be done; `error` says why. `cancelled`: by an administrator.',
  subject:
    'What the job is about; null: all data of the tenant for a `verification`, otherwise the whole installation.',
  progress: 'How far the job is.',
  attempts: 'Failures since something last succeeded: it is tried again.',
  error: 'The last failure, until something succeeds; of a `failed` job why it cannot be done.',
  mayCancel: 'Whether the job can be cancelled now.',
  mayRetry: 'Whether the job can be run again, or at once, now.',
  requestedBy: 'The readable part of the key that requested it; null: an edit of the configuration, or the schedule.',
  requested: 'When it was requested.',
  started: 'When a worker first took it up; null: not yet.',
  finished: 'When it was done, failed or was cancelled; null: not yet.',
};

const VERIFICATION_FIELDS: Readonly<Record<string, string>> = {
  ...FIELDS,
  id: 'ID of the verification, and of its job.',
  status:
    '`waiting`: not begun. `running`: begun, also while it waits after an error. `done`: `differences` is final. `cancelled`: by an administrator.',
  progress: 'How far the verification is.',
  shard: 'The shard of the tenant, which `laurel rebuild --shard` repairs.',
  differences: 'Number of differences found so far; 0 when `done`: Redis and Postgres agree.',
  endedEarly: 'Whether it ended because it had found 1,000 differences.',
  error: 'The last failure, until something succeeds.',
  requestedBy: 'The readable part of the key that requested it.',
};

/** What the fields of jobs mean, by operation and name. */
export const JOB_TEXTS: Readonly<Record<string, string>> = {
  'subject.id': 'ID of what the job is about.',
  'subject.name': 'Name of what the job is about now; null: it has none.',
  'progress.done': 'Users, messages, events or keys that are processed.',
  'progress.total': 'How many there are, for a `verification` about; null: not counted yet.',
  ...Object.fromEntries(
    ['list', 'get', 'cancel', 'retry'].flatMap((verb) =>
      Object.entries(FIELDS).map(([name, text]) => [`admin_jobs_${verb}.${name}`, text]),
    ),
  ),
  'subject.kind': 'Kind of what the job is about.',
  ...Object.fromEntries(
    ['list', 'create', 'get'].flatMap((verb) =>
      Object.entries(VERIFICATION_FIELDS).map(([name, text]) => [`admin_verifications_${verb}.${name}`, text]),
    ),
  ),
  found: 'The differences found, ordered by key. Those about a user go when the user is deleted.',
  'found.kind': 'What differs.',
  'found.key': 'The Redis key.',
  'found.part': 'The member or field that differs; for a user the names of the fields; empty: the whole key.',
  'found.userId': 'ID of the user concerned; null: none.',
  'found.redis': 'The value in Redis, shortened.',
  'found.postgres': 'The value according to Postgres, shortened.',
};
