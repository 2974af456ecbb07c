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
  webhook: 'webhooks',
} as const satisfies Record<string, keyof Catalog>;

export type Kind = keyof typeof LISTS;
