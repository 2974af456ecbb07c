export const CORRECTION_TEXTS: Readonly<Record<string, string>> = {
  revokeAchievements:
    'Whether achievements go that the event completed, with composites that need them, and their points; those for which the user qualifies without it stay.',
  dryRun: 'Whether nothing was, or is to be, written: the answer says what would change.',
  eventIds: 'IDs of the events, or of reversals that are to be reversed.',
  idempotencyKeys: 'Idempotency keys of the user’s events.',
  reversals: 'What became of each event.',
  reversalId:
    'ID of the event of the opposite value, by which the reversal can be reversed; null: nothing was written.',
  'points.changed': 'How the total changed; negative where points were taken.',
  shortfall:
    'Points that could not be taken so far, as a total does not fall below 0; what later reversals give is set off against them.',
  revokedAchievements: 'Keys of the achievements that the user has no more; IDs of those without a key.',
  restoredAchievements: 'Keys of the achievements that the user has again; IDs of those without a key.',
  'reversals.value': 'Value of the opposite event.',
  'admin_events_reverse_one.value': 'Value of the opposite event.',
  'reversals.total': 'The user’s total of the metric afterwards; null: nothing changed.',
  'admin_events_reverse_one.answer.total': 'The user’s total of the metric afterwards; null: nothing changed.',
  'reversals.streak': 'Length of the current streak afterwards; null: nothing changed.',
  'admin_events_reverse_one.streak': 'Length of the current streak afterwards; null: nothing changed.',
  'reversals.points': 'The points that were taken or given back, by points system.',
  'admin_events_reverse_one.points': 'The points that were taken or given back, by points system.',
  'reversals.status': '`unchanged`: the event was reversed, or counted again, before.',
  'admin_events_reverse_one.status': '`unchanged`: the event was reversed, or counted again, before.',
  'admin_events_reverse.from': 'Only events from then on.',
  'admin_events_reverse.body.to': 'Only events before then.',
  'admin_events_reverse.issues.idempotencyKey': 'Idempotency key that the request names.',
};
