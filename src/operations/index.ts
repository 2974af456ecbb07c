import { adminApplicationApiKeysCreate } from './admin/application-api-keys/create.ts';
import { adminApplicationApiKeysDelete } from './admin/application-api-keys/delete.ts';
import { adminBackdatingsList } from './admin/backdatings/list.ts';
import { adminConfigurationDiff } from './admin/configuration/diff.ts';
import { adminConfigurationGet } from './admin/configuration/get.ts';
import { adminConfigurationPut } from './admin/configuration/put.ts';
import { adminOrganisationGet } from './admin/organisation/get.ts';
import { adminOrganisationUpdate } from './admin/organisation/update.ts';
import { adminStreaksSettingsGet } from './admin/streaks/settings/get.ts';
import { adminStreaksSettingsUpdate } from './admin/streaks/settings/update.ts';
import { adminTenantsCreate } from './admin/tenants/create.ts';
import { adminTenantsDelete } from './admin/tenants/delete.ts';
import { adminTenantsGet } from './admin/tenants/get.ts';
import { adminTenantsList } from './admin/tenants/list.ts';
import { adminTenantsUpdate } from './admin/tenants/update.ts';
import { openapiGet as adminOpenapiGet } from './admin/openapi/get.ts';
import { achievementsAll } from './application/achievements/all.ts';
import { achievementsComplete } from './application/achievements/complete.ts';
import { leaderboardsAll } from './application/leaderboards/all.ts';
import { leaderboardsGet } from './application/leaderboards/get.ts';
import { metricsEvent } from './application/metrics/event.ts';
import { openapiGet } from './application/openapi/get.ts';
import { pointsBoosts } from './application/points/boosts.ts';
import { pointsLevelSummary } from './application/points/level-summary.ts';
import { pointsLevels } from './application/points/levels.ts';
import { pointsSummary } from './application/points/summary.ts';
import { pointsSystem } from './application/points/system.ts';
import { streaksList } from './application/streaks/list.ts';
import { usersAchievements } from './application/users/achievements.ts';
import { usersAllMetrics } from './application/users/all-metrics.ts';
import { usersCreate } from './application/users/create.ts';
import { usersGetPreferences } from './application/users/get-preferences.ts';
import { usersGet } from './application/users/get.ts';
import { usersIdentify } from './application/users/identify.ts';
import { usersLeaderboard } from './application/users/leaderboard.ts';
import { usersMetricEventSummary } from './application/users/metric-event-summary.ts';
import { usersPointsBoosts } from './application/users/points-boosts.ts';
import { usersPointsEventSummary } from './application/users/points-event-summary.ts';
import { usersPoints } from './application/users/points.ts';
import { usersSingleMetric } from './application/users/single-metric.ts';
import { usersStreak } from './application/users/streak.ts';
import { usersUpdatePreferences } from './application/users/update-preferences.ts';
import { usersUpdate } from './application/users/update.ts';
import { usersWrapped } from './application/users/wrapped.ts';
import type { Operation } from './operation.ts';

/** The Application API's table of contents. */
export const applicationOperations: readonly Operation[] = [
  metricsEvent,
  achievementsAll,
  achievementsComplete,
  usersCreate,
  usersGet,
  usersIdentify,
  usersUpdate,
  usersGetPreferences,
  usersUpdatePreferences,
  usersAllMetrics,
  usersAchievements,
  usersSingleMetric,
  usersMetricEventSummary,
  usersPointsEventSummary,
  usersStreak,
  streaksList,
  usersPoints,
  usersPointsBoosts,
  usersLeaderboard,
  usersWrapped,
  pointsSystem,
  pointsSummary,
  pointsBoosts,
  pointsLevels,
  pointsLevelSummary,
  leaderboardsAll,
  leaderboardsGet,
  openapiGet(() => applicationOperations),
];

/** The Admin API's table of contents. */
export const adminOperations: readonly Operation[] = [
  adminBackdatingsList,
  adminConfigurationGet,
  adminConfigurationPut,
  adminConfigurationDiff,
  adminStreaksSettingsGet,
  adminStreaksSettingsUpdate,
  adminApplicationApiKeysCreate,
  adminApplicationApiKeysDelete,
  adminTenantsList,
  adminTenantsGet,
  adminTenantsCreate,
  adminTenantsUpdate,
  adminTenantsDelete,
  adminOrganisationGet,
  adminOrganisationUpdate,
  adminOpenapiGet(() => adminOperations),
];
