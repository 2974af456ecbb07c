export const LIVE_TEXTS: Readonly<Record<string, string>> = {
  boards: 'Keys or IDs of the leaderboards whose changes, and the user’s ranks, are reported.',
  metricIds: 'Of what is about a metric, only these.',
  leaderboardIds: 'Of what is about a leaderboard, only these.',
  pointsSystemIds: 'Of what is about a points system, only these.',
  ticket: 'Opens one stream: `GET /v1/live?ticket=…`.',
  expiresIn: 'Seconds for which the ticket is good.',
  'live_tickets_create.types': 'Only messages of these types; left out: of all.',
  'live_tickets_create.userId': 'Only what is about this user; an application key’s is its own in any case.',
  'admin_live_tickets_create.types': 'Only messages of these types; left out: of all.',
  'admin_live_tickets_create.userId': 'Only what is about this user.',
};
