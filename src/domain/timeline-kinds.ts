/** What an entry of a timeline may be. Apart from its schema: the command line names them, and starts without TypeBox. */
export const TIMELINE_KINDS = [
  'event',
  'reversal',
  'quarantine',
  'recomputation',
  'achievement',
  'award',
  'user_creation',
  'streak',
  'leaderboard',
  'administration',
] as const;
