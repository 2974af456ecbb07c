/** Kinds of resources, of recomputed values and of timeline entries. Without schemas, so that the CLI loads fast. */
import type { Catalog } from './catalog.ts';

/** Kinds of resources as the table names them, with the catalog list that holds each. */
export const LISTS = {
  attribute: 'attributes',
  metric: 'metrics',
  achievement: 'achievements',
  points_system: 'pointsSystems',
  points_level: 'levels',
  points_trigger: 'triggers',
  points_boost: 'boosts',
  leaderboard: 'leaderboards',
  reward: 'rewards',
  webhook: 'webhooks',
} as const satisfies Record<string, keyof Catalog>;

export type Kind = keyof typeof LISTS;

/** What can be recomputed. Separate from its schema because the command line uses it and starts without TypeBox. */
export const RECOMPUTED_KINDS = ['achievements', 'points', 'boards'] as const;

/** Kinds of timeline entries. Separate from their schema because the command line uses them and starts without TypeBox. */
export const TIMELINE_KINDS = [
  'event',
  'reversal',
  'quarantine',
  'recomputation',
  'achievement',
  'award',
  'spending',
  'user_creation',
  'streak',
  'leaderboard',
  'league',
  'merge',
  'administration',
] as const;
