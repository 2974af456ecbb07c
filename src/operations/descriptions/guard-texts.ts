/** What fields of guards and of the quarantine mean, by name, or by `<field around it>.<name>` where that decides. */
export const GUARD_TEXTS: Readonly<Record<string, string>> = {
  'admin_users_export.guards': 'How often guards of metrics stopped events of the user.',
  minValue: 'The smallest value of an event.',
  maxValue: 'The largest value of an event.',
  minSecondsBetween:
    'The shortest time, in seconds, between an event and the one of the user that was applied last. Nothing can be clamped.',
  maxSumPerHour:
    'The largest sum of a user in an hour (UTC). Negative values lower the sum and are never stopped by it.',
  maxSumPerDay: 'The largest sum of a user in a day of the user’s time zone.',
  maxTotal: 'The largest total of a user.',
  limit: 'The limit itself: what equals it is allowed.',
  ...Object.fromEntries(
    ['minValue', 'maxValue', 'minSecondsBetween', 'maxSumPerHour', 'maxSumPerDay', 'maxTotal'].map((guard) => [
      `${guard}.action`,
      'What becomes of an event beyond the limit: `refuse` answers 422; `clamp` applies what is allowed of the value; `quarantine` answers 202 and keeps it until it is released or dropped.',
    ]),
  ),
  guarded: 'What a guard of the metric did to the event; left out where none did anything.',
  guard: 'Which guard of the metric it was.',
  'guarded.action': 'Whether the value was cut (`clamp`), or the event is kept and not applied (`quarantine`).',
  'guarded.value': 'Of a clamped event the value that was applied.',
  'events.value': 'The value of the event as it was sent.',
  'admin_quarantine_list.events': 'The events, newest first.',
  'events.guard': 'The guard that keeps it.',
  'events.at': 'When it was sent.',
  'events.status': 'Whether it waits, was released, or was dropped.',
  'events.metricKey': 'Key of the metric; null: it was deleted.',
  'events.idempotencyKey': 'The event’s idempotency key; null: none. It counts as used, even if the event is dropped.',
  settled: 'When it was released or dropped; null: it waits.',
  'admin_quarantine_release.ids': 'IDs of the events.',
  'admin_quarantine_drop.ids': 'IDs of the events.',
  released: 'The events that were released, oldest first.',
  'admin_quarantine_release.event':
    'What the event changed, as its sender would be answered; null: an earlier call released it.',
  'admin_quarantine_release_one.event':
    'What the event changed, as its sender would be answered; null: an earlier call released it.',
  refused: 'How many events the guard refused.',
  clamped: 'How many events the guard cut.',
  quarantined: 'How many events the guard put into quarantine.',
  last: 'When the guard last stopped an event.',
  hidden: 'Whether leaderboards leave the user out; scores are kept.',
  'admin_users_get.hidden': 'Whether an administrator hides the user from leaderboards.',
  'admin_users_update.hidden': 'Whether an administrator hides the user from leaderboards.',
  hiddenByUser: 'Whether the user is hidden by own wish.',
  'users_get_preferences.leaderboards': 'Whether the user wants to be on leaderboards; left out by those who do.',
  'users_update_preferences.leaderboards': 'Whether the user wants to be on leaderboards; left out by those who do.',
  quarantine: 'Events that guards keep or kept from being applied.',
};
