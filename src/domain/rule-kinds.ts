/** Kinds of triggers, roundings and aggregates, each listed once. Types, schemas and documents derive from these lists. */

/** What completes achievements. */
export const ACHIEVEMENT_TRIGGERS = ['metric', 'streak', 'api', 'achievement', 'anniversary'] as const;

/** What points triggers pay for. */
export const TRIGGER_TYPES = ['metric', 'achievement', 'streak', 'time', 'user_creation'] as const;
export type TriggerType = (typeof TRIGGER_TYPES)[number];

/** How boosted points are rounded. */
export const ROUNDINGS = ['down', 'up', 'nearest'] as const;

/** Aggregates of leaderboards other than the sum. */
export const FOLDS = ['max', 'min', 'last'] as const;
export type Fold = (typeof FOLDS)[number];
