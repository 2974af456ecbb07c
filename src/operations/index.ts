import { adminAttributesList } from './admin/attributes/list.ts';
import { adminAttributesGet } from './admin/attributes/get.ts';
import { adminAttributesCreate } from './admin/attributes/create.ts';
import { adminAttributesUpdate } from './admin/attributes/update.ts';
import { adminAttributesDelete } from './admin/attributes/delete.ts';
import { adminMetricsList } from './admin/metrics/list.ts';
import { adminMetricsGet } from './admin/metrics/get.ts';
import { adminMetricsCreate } from './admin/metrics/create.ts';
import { adminMetricsUpdate } from './admin/metrics/update.ts';
import { adminMetricsDelete } from './admin/metrics/delete.ts';
import { adminAchievementsList } from './admin/achievements/list.ts';
import { adminAchievementsGet } from './admin/achievements/get.ts';
import { adminAchievementsCreate } from './admin/achievements/create.ts';
import { adminAchievementsUpdate } from './admin/achievements/update.ts';
import { adminAchievementsDelete } from './admin/achievements/delete.ts';
import { adminPointsSystemsList } from './admin/points/systems/list.ts';
import { adminPointsSystemsGet } from './admin/points/systems/get.ts';
import { adminPointsSystemsCreate } from './admin/points/systems/create.ts';
import { adminPointsSystemsUpdate } from './admin/points/systems/update.ts';
import { adminPointsSystemsDelete } from './admin/points/systems/delete.ts';
import { adminPointsLevelsList } from './admin/points/levels/list.ts';
import { adminPointsLevelsGet } from './admin/points/levels/get.ts';
import { adminPointsLevelsCreate } from './admin/points/levels/create.ts';
import { adminPointsLevelsUpdate } from './admin/points/levels/update.ts';
import { adminPointsLevelsDelete } from './admin/points/levels/delete.ts';
import { adminPointsBoostsList } from './admin/points/boosts/list.ts';
import { adminPointsBoostsGet } from './admin/points/boosts/get.ts';
import { adminPointsBoostsCreate } from './admin/points/boosts/create.ts';
import { adminPointsBoostsUpdate } from './admin/points/boosts/update.ts';
import { adminPointsBoostsDelete } from './admin/points/boosts/delete.ts';
import { adminPointsTriggersList } from './admin/points/triggers/list.ts';
import { adminPointsTriggersGet } from './admin/points/triggers/get.ts';
import { adminPointsTriggersCreate } from './admin/points/triggers/create.ts';
import { adminPointsTriggersUpdate } from './admin/points/triggers/update.ts';
import { adminPointsTriggersDelete } from './admin/points/triggers/delete.ts';
import { adminLeaderboardsList } from './admin/leaderboards/list.ts';
import { adminLeaderboardsGet } from './admin/leaderboards/get.ts';
import { adminLeaderboardsCreate } from './admin/leaderboards/create.ts';
import { adminLeaderboardsUpdate } from './admin/leaderboards/update.ts';
import { adminLeaderboardsDelete } from './admin/leaderboards/delete.ts';
import { adminWebhooksList } from './admin/webhooks/list.ts';
import { adminWebhooksGet } from './admin/webhooks/get.ts';
import { adminWebhooksCreate } from './admin/webhooks/create.ts';
import { adminWebhooksUpdate } from './admin/webhooks/update.ts';
import { adminWebhooksDelete } from './admin/webhooks/delete.ts';
import { adminWebhooksRotateSecret } from './admin/webhooks/rotate-secret.ts';
import { adminAdminApiKeysCreate } from './admin/admin-api-keys/create.ts';
import { adminAdminApiKeysDelete } from './admin/admin-api-keys/delete.ts';
import { adminAdminApiKeysList } from './admin/admin-api-keys/list.ts';
import { adminAdminApiKeysRotate } from './admin/admin-api-keys/rotate.ts';
import { adminAdminApiKeysUpdate } from './admin/admin-api-keys/update.ts';
import { adminApplicationApiKeysCreate } from './admin/application-api-keys/create.ts';
import { adminApplicationApiKeysDelete } from './admin/application-api-keys/delete.ts';
import { adminApplicationApiKeysList } from './admin/application-api-keys/list.ts';
import { adminAuditLogList } from './admin/audit-log/list.ts';
import { adminBackdatingsList } from './admin/backdatings/list.ts';
import { adminLeaderboardFillingsList } from './admin/leaderboard-fillings/list.ts';
import { adminClockDelete } from './admin/clock/delete.ts';
import { adminClockGet } from './admin/clock/get.ts';
import { adminClockPut } from './admin/clock/put.ts';
import { adminConfigurationDiff } from './admin/configuration/diff.ts';
import { adminConfigurationGet } from './admin/configuration/get.ts';
import { adminConfigurationPut } from './admin/configuration/put.ts';
import { adminMetricsBatchEvents } from './admin/metrics/batch-events.ts';
import { adminDeadLettersDelete } from './admin/dead-letters/delete.ts';
import { adminDeadLettersGet } from './admin/dead-letters/get.ts';
import { adminDeadLettersList } from './admin/dead-letters/list.ts';
import { adminDeadLettersRetry } from './admin/dead-letters/retry.ts';
import { adminOrganisationGet } from './admin/organisation/get.ts';
import { adminOrganisationUpdate } from './admin/organisation/update.ts';
import { adminStreaksFreezesCreate } from './admin/streaks/freezes/create.ts';
import { adminStreaksPausesCreate } from './admin/streaks/pauses/create.ts';
import { adminStreaksPausesDelete } from './admin/streaks/pauses/delete.ts';
import { adminStreaksRestore } from './admin/streaks/restore.ts';
import { adminStreaksSettingsGet } from './admin/streaks/settings/get.ts';
import { adminStreaksSettingsUpdate } from './admin/streaks/settings/update.ts';
import { adminTenantsCreate } from './admin/tenants/create.ts';
import { adminTenantsDelete } from './admin/tenants/delete.ts';
import { adminTenantsGet } from './admin/tenants/get.ts';
import { adminTenantsList } from './admin/tenants/list.ts';
import { adminTenantsUpdate } from './admin/tenants/update.ts';
import { adminUsersDelete } from './admin/users/delete.ts';
import { adminUsersDeleteOne } from './admin/users/delete-one.ts';
import { adminUsersExport } from './admin/users/export.ts';
import { adminUsersList } from './admin/users/list.ts';
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
  adminLeaderboardFillingsList,
  adminConfigurationGet,
  adminConfigurationPut,
  adminConfigurationDiff,
  adminAttributesList,
  adminAttributesGet,
  adminAttributesCreate,
  adminAttributesUpdate,
  adminAttributesDelete,
  adminMetricsList,
  adminMetricsGet,
  adminMetricsCreate,
  adminMetricsUpdate,
  adminMetricsDelete,
  adminAchievementsList,
  adminAchievementsGet,
  adminAchievementsCreate,
  adminAchievementsUpdate,
  adminAchievementsDelete,
  adminPointsSystemsList,
  adminPointsSystemsGet,
  adminPointsSystemsCreate,
  adminPointsSystemsUpdate,
  adminPointsSystemsDelete,
  adminPointsLevelsList,
  adminPointsLevelsGet,
  adminPointsLevelsCreate,
  adminPointsLevelsUpdate,
  adminPointsLevelsDelete,
  adminPointsBoostsList,
  adminPointsBoostsGet,
  adminPointsBoostsCreate,
  adminPointsBoostsUpdate,
  adminPointsBoostsDelete,
  adminPointsTriggersList,
  adminPointsTriggersGet,
  adminPointsTriggersCreate,
  adminPointsTriggersUpdate,
  adminPointsTriggersDelete,
  adminLeaderboardsList,
  adminLeaderboardsGet,
  adminLeaderboardsCreate,
  adminLeaderboardsUpdate,
  adminLeaderboardsDelete,
  adminWebhooksList,
  adminWebhooksGet,
  adminWebhooksCreate,
  adminWebhooksUpdate,
  adminWebhooksDelete,
  adminWebhooksRotateSecret,
  adminStreaksSettingsGet,
  adminStreaksSettingsUpdate,
  adminAdminApiKeysList,
  adminAdminApiKeysCreate,
  adminAdminApiKeysUpdate,
  adminAdminApiKeysRotate,
  adminAdminApiKeysDelete,
  adminAuditLogList,
  adminDeadLettersList,
  adminDeadLettersGet,
  adminDeadLettersRetry,
  adminDeadLettersDelete,
  adminStreaksFreezesCreate,
  adminStreaksPausesCreate,
  adminStreaksPausesDelete,
  adminStreaksRestore,
  adminApplicationApiKeysList,
  adminApplicationApiKeysCreate,
  adminApplicationApiKeysDelete,
  adminMetricsBatchEvents,
  adminUsersList,
  adminUsersDelete,
  adminUsersDeleteOne,
  adminUsersExport,
  adminTenantsList,
  adminTenantsGet,
  adminTenantsCreate,
  adminTenantsUpdate,
  adminTenantsDelete,
  adminOrganisationGet,
  adminOrganisationUpdate,
  adminClockGet,
  adminClockPut,
  adminClockDelete,
  adminOpenapiGet(() => adminOperations),
];
