import { attributes } from './admin/attributes.ts';
import { adminMetricsBatchEvents, metrics } from './admin/metrics.ts';
import { achievements, adminAchievementsPreview, adminBackdatingsList } from './admin/achievements.ts';
import { boosts, levels, systems, triggers } from './admin/points.ts';
import { adminLeaderboardFillingsList, leaderboards } from './admin/leaderboards.ts';
import {
  adminWebhooksCreate,
  adminWebhooksDeliveriesGet,
  adminWebhooksDeliveriesList,
  adminWebhooksDeliveriesResend,
  adminWebhooksResend,
  adminWebhooksResendsList,
  adminWebhooksRotateSecret,
  adminWebhooksState,
  adminWebhooksTest,
  webhooks,
} from './admin/webhooks.ts';
import { adminActivityCompletions, adminActivityGet } from './admin/activity.ts';
import {
  adminAdminApiKeysCreate,
  adminAdminApiKeysDelete,
  adminAdminApiKeysList,
  adminAdminApiKeysRotate,
  adminAdminApiKeysUpdate,
  adminApplicationApiKeysCreate,
  adminApplicationApiKeysDelete,
  adminApplicationApiKeysList,
} from './admin/api-keys.ts';
import { adminAuditLogList } from './admin/audit-log.ts';
import {
  adminClockDelete,
  adminClockGet,
  adminClockPut,
  openapiGet as adminOpenapiGet,
  adminSystemGet,
} from './admin/system.ts';
import { adminConfigurationDiff, adminConfigurationGet, adminConfigurationPut } from './admin/configuration.ts';
import { adminJobsCancel, adminJobsGet, adminJobsList, adminJobsRetry } from './admin/jobs.ts';
import {
  adminRecomputationsApply,
  adminRecomputationsCancel,
  adminRecomputationsCreate,
  adminRecomputationsGet,
  adminRecomputationsList,
  adminRecomputationsRevert,
} from './admin/recomputations.ts';
import {
  adminEventsReverse,
  adminEventsReverseOne,
  adminEventsSettingsGet,
  adminEventsSettingsUpdate,
} from './admin/events.ts';
import {
  adminEnvironmentsList,
  adminOrganisationGet,
  adminOrganisationUpdate,
  adminSettingsGet,
  adminSettingsUpdate,
} from './admin/organisation.ts';
import { adminImportsCreate } from './admin/imports.ts';
import { adminSessionCreate, adminSessionDelete, adminSessionGet } from './admin/session.ts';
import {
  adminDeadLettersDelete,
  adminDeadLettersGet,
  adminDeadLettersList,
  adminDeadLettersRetry,
} from './admin/dead-letters.ts';
import {
  adminStreaksFreezesCreate,
  adminStreaksPausesCreate,
  adminStreaksPausesDelete,
  adminStreaksReset,
  adminStreaksRestore,
  adminStreaksSettingsGet,
  adminStreaksSettingsUpdate,
} from './admin/streaks.ts';
import {
  adminTenantsCreate,
  adminTenantsDelete,
  adminTenantsGet,
  adminTenantsList,
  adminTenantsUpdate,
} from './admin/tenants.ts';
import {
  adminUsersDelete,
  adminUsersDeleteOne,
  adminUsersExport,
  adminUsersGet,
  adminUsersGuards,
  adminUsersList,
  adminUsersTimeline,
  adminUsersUpdate,
} from './admin/users.ts';
import {
  adminQuarantineDeleteOne,
  adminQuarantineDrop,
  adminQuarantineList,
  adminQuarantineRelease,
  adminQuarantineReleaseOne,
} from './admin/quarantine.ts';
import { adminLiveGet, adminLiveTicketsCreate, adminLiveWs } from './admin/live.ts';
import { achievementsAll, achievementsComplete } from './application/achievements.ts';
import { leaderboardsAll, leaderboardsGet } from './application/leaderboards.ts';
import { liveGet, liveTicketsCreate, liveWs } from './application/live.ts';
import { metricsEvent } from './application/metrics.ts';
import { openapiGet } from './application/openapi.ts';
import { pointsBoosts, pointsLevels, pointsLevelSummary, pointsSummary, pointsSystem } from './application/points.ts';
import { streaksList, streaksRankings } from './application/streaks.ts';
import {
  usersAchievements,
  usersAllMetrics,
  usersCreate,
  usersGet,
  usersGetPreferences,
  usersIdentify,
  usersLeaderboard,
  usersMetricEventSummary,
  usersPoints,
  usersPointsBoosts,
  usersPointsEventSummary,
  usersSingleMetric,
  usersStreak,
  usersUpdate,
  usersUpdatePreferences,
  usersWrapped,
} from './application/users.ts';
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
