import { attributes } from './admin/attributes/attributes.ts';
import { metrics } from './admin/metrics/metrics.ts';
import { achievements } from './admin/achievements/achievements.ts';
import { adminAchievementsPreview } from './admin/achievements/preview.ts';
import { systems } from './admin/points/systems/systems.ts';
import { levels } from './admin/points/levels/levels.ts';
import { boosts } from './admin/points/boosts/boosts.ts';
import { triggers } from './admin/points/triggers/triggers.ts';
import { leaderboards } from './admin/leaderboards/leaderboards.ts';
import { webhooks } from './admin/webhooks/webhooks.ts';
import { adminWebhooksCreate } from './admin/webhooks/create.ts';
import { adminWebhooksDeliveriesGet } from './admin/webhooks/deliveries/get.ts';
import { adminWebhooksDeliveriesList } from './admin/webhooks/deliveries/list.ts';
import { adminWebhooksDeliveriesResend } from './admin/webhooks/deliveries/resend.ts';
import { adminWebhooksResend } from './admin/webhooks/resend.ts';
import { adminWebhooksResendsList } from './admin/webhooks/resends/list.ts';
import { adminWebhooksRotateSecret } from './admin/webhooks/rotate-secret.ts';
import { adminWebhooksState } from './admin/webhooks/state.ts';
import { adminWebhooksTest } from './admin/webhooks/test.ts';
import { adminActivityCompletions } from './admin/activity/completions.ts';
import { adminActivityGet } from './admin/activity/get.ts';
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
import { adminJobsCancel, adminJobsGet, adminJobsList, adminJobsRetry } from './admin/jobs.ts';
import { adminRecomputationsApply } from './admin/recomputations/apply.ts';
import { adminRecomputationsCancel } from './admin/recomputations/cancel.ts';
import { adminRecomputationsCreate } from './admin/recomputations/create.ts';
import { adminRecomputationsGet } from './admin/recomputations/get.ts';
import { adminRecomputationsList } from './admin/recomputations/list.ts';
import { adminRecomputationsRevert } from './admin/recomputations/revert.ts';
import { adminEventsReverse } from './admin/events/reverse.ts';
import { adminEventsReverseOne } from './admin/events/reverse-one.ts';
import { adminEventsSettingsGet } from './admin/events/settings/get.ts';
import { adminEventsSettingsUpdate } from './admin/events/settings/update.ts';
import { adminEnvironmentsList } from './admin/environments/list.ts';
import { adminImportsCreate } from './admin/imports/create.ts';
import { adminSessionCreate } from './admin/session/create.ts';
import { adminSessionDelete } from './admin/session/delete.ts';
import { adminSessionGet } from './admin/session/get.ts';
import { adminSettingsGet } from './admin/settings/get.ts';
import { adminSettingsUpdate } from './admin/settings/update.ts';
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
import { adminStreaksReset } from './admin/streaks/reset.ts';
import { adminStreaksRestore } from './admin/streaks/restore.ts';
import { adminStreaksSettingsGet } from './admin/streaks/settings/get.ts';
import { adminStreaksSettingsUpdate } from './admin/streaks/settings/update.ts';
import { adminSystemGet } from './admin/system/get.ts';
import { adminTenantsCreate } from './admin/tenants/create.ts';
import { adminTenantsDelete } from './admin/tenants/delete.ts';
import { adminTenantsGet } from './admin/tenants/get.ts';
import { adminTenantsList } from './admin/tenants/list.ts';
import { adminTenantsUpdate } from './admin/tenants/update.ts';
import { adminUsersDelete } from './admin/users/delete.ts';
import { adminUsersDeleteOne } from './admin/users/delete-one.ts';
import { adminQuarantineDeleteOne } from './admin/quarantine/delete-one.ts';
import { adminQuarantineDrop } from './admin/quarantine/drop.ts';
import { adminQuarantineList } from './admin/quarantine/list.ts';
import { adminQuarantineReleaseOne } from './admin/quarantine/release-one.ts';
import { adminQuarantineRelease } from './admin/quarantine/release.ts';
import { adminUsersExport } from './admin/users/export.ts';
import { adminUsersGet } from './admin/users/get.ts';
import { adminUsersGuards } from './admin/users/guards.ts';
import { adminUsersList } from './admin/users/list.ts';
import { adminUsersTimeline } from './admin/users/timeline.ts';
import { adminUsersUpdate } from './admin/users/update.ts';
import { adminLiveGet } from './admin/live/get.ts';
import { adminLiveTicketsCreate } from './admin/live/tickets/create.ts';
import { adminLiveWs } from './admin/live/ws.ts';
import { openapiGet as adminOpenapiGet } from './admin/openapi/get.ts';
import { achievementsAll } from './application/achievements/all.ts';
import { achievementsComplete } from './application/achievements/complete.ts';
import { leaderboardsAll } from './application/leaderboards/all.ts';
import { leaderboardsGet } from './application/leaderboards/get.ts';
import { liveGet } from './application/live/get.ts';
import { liveTicketsCreate } from './application/live/tickets/create.ts';
import { liveWs } from './application/live/ws.ts';
import { metricsEvent } from './application/metrics/event.ts';
import { openapiGet } from './application/openapi/get.ts';
import { pointsBoosts } from './application/points/boosts.ts';
import { pointsLevelSummary } from './application/points/level-summary.ts';
import { pointsLevels } from './application/points/levels.ts';
import { pointsSummary } from './application/points/summary.ts';
import { pointsSystem } from './application/points/system.ts';
import { streaksList } from './application/streaks/list.ts';
import { streaksRankings } from './application/streaks/rankings.ts';
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
import { resourceOperations } from './resource-operations.ts';

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
  streaksRankings,
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
  liveTicketsCreate,
  liveGet,
  liveWs,
  openapiGet(() => applicationOperations),
];

/** The Admin API's table of contents. */
export const adminOperations: readonly Operation[] = [
  adminBackdatingsList,
  adminLeaderboardFillingsList,
  adminConfigurationGet,
  adminConfigurationPut,
  adminConfigurationDiff,
  ...resourceOperations(attributes),
  ...resourceOperations(metrics),
  ...resourceOperations(achievements),
  adminAchievementsPreview,
  ...resourceOperations(systems),
  ...resourceOperations(levels),
  ...resourceOperations(boosts),
  ...resourceOperations(triggers),
  ...resourceOperations(leaderboards),
  ...resourceOperations(webhooks, { create: adminWebhooksCreate }),
  adminWebhooksRotateSecret,
  adminWebhooksState,
  adminWebhooksDeliveriesList,
  adminWebhooksDeliveriesGet,
  adminWebhooksDeliveriesResend,
  adminWebhooksResend,
  adminWebhooksResendsList,
  adminWebhooksTest,
  adminStreaksSettingsGet,
  adminStreaksSettingsUpdate,
  adminAdminApiKeysList,
  adminAdminApiKeysCreate,
  adminAdminApiKeysUpdate,
  adminAdminApiKeysRotate,
  adminAdminApiKeysDelete,
  adminActivityGet,
  adminActivityCompletions,
  adminAuditLogList,
  adminSystemGet,
  adminDeadLettersList,
  adminDeadLettersGet,
  adminDeadLettersRetry,
  adminDeadLettersDelete,
  adminStreaksFreezesCreate,
  adminStreaksPausesCreate,
  adminStreaksPausesDelete,
  adminStreaksReset,
  adminStreaksRestore,
  adminApplicationApiKeysList,
  adminApplicationApiKeysCreate,
  adminApplicationApiKeysDelete,
  adminMetricsBatchEvents,
  adminUsersList,
  adminUsersTimeline,
  adminUsersGet,
  adminUsersUpdate,
  adminUsersDelete,
  adminUsersDeleteOne,
  adminUsersExport,
  adminUsersGuards,
  adminQuarantineList,
  adminQuarantineRelease,
  adminQuarantineReleaseOne,
  adminQuarantineDrop,
  adminQuarantineDeleteOne,
  adminTenantsList,
  adminTenantsGet,
  adminTenantsCreate,
  adminTenantsUpdate,
  adminTenantsDelete,
  adminSessionGet,
  adminSessionCreate,
  adminSessionDelete,
  adminSettingsGet,
  adminSettingsUpdate,
  adminImportsCreate,
  adminEventsReverse,
  adminEventsReverseOne,
  adminEventsSettingsGet,
  adminEventsSettingsUpdate,
  adminJobsList,
  adminJobsGet,
  adminJobsCancel,
  adminJobsRetry,
  adminRecomputationsList,
  adminRecomputationsCreate,
  adminRecomputationsGet,
  adminRecomputationsApply,
  adminRecomputationsRevert,
  adminRecomputationsCancel,
  adminEnvironmentsList,
  adminOrganisationGet,
  adminOrganisationUpdate,
  adminLiveTicketsCreate,
  adminLiveGet,
  adminLiveWs,
  adminClockGet,
  adminClockPut,
  adminClockDelete,
  adminOpenapiGet(() => adminOperations),
];
