import type { AnalyticsOptions } from './analytics-range.ts';
import { createAchievementAnalytics } from './achievement-analytics.ts';
import { createLeaderboardAnalytics } from './leaderboard-analytics.ts';
import { createMessageAnalytics } from './message-analytics.ts';
import { createMetricAnalytics } from './metric-analytics.ts';
import { createPointsAnalytics } from './points-analytics.ts';
import { createStreakAnalytics } from './streak-analytics.ts';
import { createUserAnalytics } from './user-analytics.ts';

/**
 * Reads figures about a tenant's users over time from the sums that the persister keeps. They include every event that was
 * acknowledged before the read.
 */
export const createAnalyticsReads = (options: AnalyticsOptions) => ({
  ...createUserAnalytics(options),
  ...createMetricAnalytics(options),
  ...createAchievementAnalytics(options),
  ...createPointsAnalytics(options),
  ...createStreakAnalytics(options),
  ...createLeaderboardAnalytics(options),
  ...createMessageAnalytics(options),
});

export type AnalyticsReads = ReturnType<typeof createAnalyticsReads>;
