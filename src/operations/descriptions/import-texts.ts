/** What fields of imported users mean, by name, or by `<field around it>.<name>` where that decides. */
export const IMPORT_TEXTS: Readonly<Record<string, string>> = {
  'users.skipped': 'Parts of the user that were not imported; with the status `skipped`, why nothing was.',
  'skipped.field': 'The field that was not imported, for example `metrics.steps`.',
  'skipped.reason': 'Why it was not imported.',
  'skipped.days': 'Number of days of events or points in it.',
  'admin_imports_create.metrics': 'Totals by the keys of the metrics.',
  'admin_imports_create.points': 'Points by the keys of the points systems.',
  'metrics.days':
    'What the user’s events added, by local date. What they do not add up to happened before the first of them.',
  'points.days': 'What the user was awarded, by local date. What it is beyond the awards becomes one award a day.',
  days: 'Changes by local date.',
  'admin_imports_create.awards': 'The newest awards, newest first.',
  'admin_imports_create.history': 'Periods of the streak, oldest first, without a gap, up to the current one.',
  'admin_imports_create.users': 'What became of each user who was not refused.',
  'users.status':
    '`imported`; `already`: this import brought the user before, and nothing was done; `ready`: a dry run, the user can be imported; `skipped`: nothing was imported.',
  'admin_imports_create.created': 'When the user was first seen; left out: now.',
  'admin_imports_create.updated': 'When the user was last changed; left out: now.',
};
