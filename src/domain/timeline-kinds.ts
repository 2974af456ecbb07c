/** Kinds of timeline entries. Separate from their schema because the command line uses them and starts without TypeBox. */
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
