const FIELDS: Readonly<Record<string, string>> = {
  kind: 'What the job does.',
  status:
    '`waiting`: not begun. `running`: begun, also while it waits after an error. `failed`: it cannot be done; `error` says why. `cancelled`: by an administrator.',
  subject: 'What the job is about; null: the whole installation.',
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

export const JOB_TEXTS: Readonly<Record<string, string>> = {
  'subject.id': 'ID of what the job is about.',
  'subject.name': 'Name of what the job is about now; null: it has none.',
  'progress.done': 'Users, messages or events that are processed.',
  'progress.total': 'How many there are; null: not counted yet.',
  ...Object.fromEntries(
    ['list', 'get', 'cancel', 'retry'].flatMap((verb) =>
      Object.entries(FIELDS).map(([name, text]) => [`admin_jobs_${verb}.${name}`, text]),
    ),
  ),
  'subject.kind': 'Kind of what the job is about.',
};
