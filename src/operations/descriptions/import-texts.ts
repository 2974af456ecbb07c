export const IMPORT_TEXTS: Readonly<Record<string, string>> = {
  'users.skipped': 'Parts of the user that were not imported; with the status `skipped`, why nothing was.',
  'skipped.field': 'The field that was not imported, for example `metrics.steps`.',
  'skipped.reason': 'Why it was not imported.',
  'skipped.days': 'Number of days of events or points in it.',
  'metrics.days':
    'What the user’s events added, by local date. What they do not add up to happened before the first of them.',
  'points.days': 'What the user was awarded, by local date. What it is beyond the awards becomes one award a day.',
  days: 'Changes by local date.',
  'admin_imports_create.history': 'Periods of the streak, oldest first, without a gap, up to the current one.',
  'admin_imports_create.users': 'What became of each user who was not refused.',
  'users.status':
    '`imported`; `already`: this import brought the user before, and nothing was done; `ready`: a dry run, the user can be imported; `skipped`: nothing was imported.',
  'admin_imports_create.created': 'When the user was first seen; left out: now.',
  'admin_imports_create.updated': 'When the user was last changed; left out: now.',
  'admin_imports_create.body.metrics': 'Totals, by key of the metric.',
  'admin_imports_create.body.points': 'Points with their awards, by key of the points system.',
  'admin_imports_create.body.achievements': 'The achievements that the user completed.',
  'admin_imports_create.body.streak': 'The current streak with its periods.',
  'admin_imports_create.body.leaderboards':
    'Leaderboards whose group differs from the user’s current attributes, by key.',
  'admin_imports_create.body.points.awards': 'The awards, in any order; the newest must be among them.',
  'admin_imports_create.body.metrics.total': 'The user’s total of the metric.',
  'admin_imports_create.body.points.total': 'The user’s points.',
  'streak.pauses': 'The user’s pauses of the streak.',
};
