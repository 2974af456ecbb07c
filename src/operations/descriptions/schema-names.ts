import { WEBHOOK_EVENTS } from '../../domain/notifications/webhook.ts';

/** A place of a schema, or several, of which the first that a document has counts. */
type Places = string | readonly string[];

const applicationNames: Readonly<Record<string, Places>> = {
  EventRequest: 'metrics_event body',
  EventResult: ['metrics_event 201', 'admin_quarantine_release_one 200 event |0'],
  CompletedAchievement: 'EventResult achievements []',
  AttributeValue: 'CompletedAchievement userAttributes []',
  QuestProgress: 'EventResult achievementProgress []',
  QuestPeriod: 'QuestProgress period',
  EventStreak: 'EventResult currentStreak',
  EventPoints: 'EventResult points {}',
  PointsAward: 'EventPoints awards []',
  PointsTrigger: 'PointsAward trigger',
  EventLeaderboard: 'EventResult leaderboards {}',
  GuardedEvent: 'EventResult guarded',

  Achievement: 'achievements_all 200 []',
  AchievementCompletionRequest: 'achievements_complete body',
  AchievementCompletion: 'achievements_complete 201',

  UserRequest: ['users_create body', 'BatchEvent user'],
  UserChanges: 'users_update body',
  User: ['users_get 200', 'admin_users_list 200 []'],
  ChangedUser: 'users_create 201',
  Preferences: 'users_get_preferences 200',
  PreferencesChanges: ['users_update_preferences body', 'ImportedUser preferences'],
  NotificationPreferences: 'PreferencesChanges notifications',
  StreakPreferences: 'PreferencesChanges streak',
  LeaderboardPreferences: 'PreferencesChanges leaderboards',
  UserAchievement: 'users_achievements 200 []',
  UserMetric: 'users_single_metric 200',
  SummaryEntry: 'users_metric_event_summary 200 []',
  UserPoints: 'users_points 200',
  UserLeaderboard: 'users_leaderboard 200',
  RankHistoryEntry: 'UserLeaderboard history []',
  Wrapped: 'users_wrapped 200',
  WrappedActivity: 'Wrapped activity',
  WrappedMetric: 'WrappedActivity mostActiveDay metrics {}',
  WrappedPoints: 'WrappedActivity mostActiveDay points {}',
  WrappedLeaderboard: 'WrappedActivity mostActiveDay leaderboards {}',

  Streak: 'users_streak 200',
  StreakHistoryEntry: 'Streak streakHistory []',
  StreakLength: 'streaks_list 200 []',
  StreakRanking: 'streaks_rankings 200 []',

  PointsSystem: 'points_system 200',
  PointsLevel: ['points_levels 200 []', 'EventPoints level |0'],
  PointsBoost: ['users_points_boosts 200 []', 'PointsAward boosts []'],
  PointsRange: ['points_summary 200 []', 'admin_analytics_points_system 200 ranges []'],
  PointsLevelUsers: 'points_level_summary 200 []',
  SpendRequest: 'spendings_spend body',
  HoldRequest: 'spendings_hold body',
  BalanceChange: 'spendings_spend 201',

  UserReward: 'users_rewards 200 []',
  ClaimRequest: 'rewards_claim body',
  Claim: ['rewards_claim 201', 'admin_claims_get 200'],
  ClaimsPage: ['users_claims 200', 'admin_claims_list 200'],

  Leaderboard: 'leaderboards_all 200 []',
  LeaderboardPage: 'leaderboards_get 200',
  Ranking: 'LeaderboardPage rankings []',
  RankingsAmongRequest: 'leaderboards_rankings body',
  TeamsPage: 'leaderboards_teams 200',
  UserLeague: 'users_leaderboard_leagues 200',
  TeamRanking: 'TeamsPage rankings []',

  MessageFeedbackReports: 'messages_feedback body',
  MessageFeedbackCounts: 'messages_feedback 200',

  LiveTicketRequest: ['live_tickets_create body', 'admin_live_tickets_create body'],
  LiveTicket: ['live_tickets_create 201', 'admin_live_tickets_create 201'],
  OpenApiDocument: ['openapi_get 200', 'admin_openapi_get 200'],
};

/** The resources that are created, changed and deleted as lists, with the name of one. */
const resources: Readonly<Record<string, string>> = {
  attributes: 'Attribute',
  metrics: 'Metric',
  achievements: 'AdminAchievement',
  points_systems: 'AdminPointsSystem',
  points_levels: 'AdminPointsLevel',
  points_boosts: 'AdminPointsBoost',
  points_triggers: 'AdminPointsTrigger',
  leaderboards: 'AdminLeaderboard',
  rewards: 'Reward',
  webhooks: 'Webhook',
  tenants: 'Tenant',
  admin_api_keys: 'AdminKey',
};

const resourceNames = Object.fromEntries(
  Object.entries(resources).flatMap(([id, name]): [string, Places][] => [
    [name, `admin_${id}_list 200 []`],
    [`${name}Request`, `admin_${id}_create body []`],
    [`${name}Changes`, `admin_${id}_update body []`],
    [`${name}Creation`, `admin_${id}_create 201`],
    [`${name}Update`, `admin_${id}_update 200`],
  ]),
);

/** `points.changed` is `PointsChanged`. */
const messageName = (type: string): string =>
  type
    .split(/[._]/)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('');

const messageNames = Object.fromEntries(
  WEBHOOK_EVENTS.map((type) => [messageName(type), `webhooks_${type.replace('.', '_')} body`]),
);

const adminNames: Readonly<Record<string, Places>> = {
  ...resourceNames,
  AdminIssue: 'AttributeCreation issues []',
  DeletedResources: 'admin_attributes_delete 200',
  AttributeCondition: 'AdminAchievement userAttributes []',
  Badge: 'AdminAchievementRequest badge |0',
  MetricGuards: 'Metric guards',
  AttributeValueCount: 'admin_attributes_values 200 []',
  AchievementPreviewRequest: 'admin_achievements_preview body',
  AchievementPreview: 'admin_achievements_preview 200',
  CreatedPointsSystem: 'AdminPointsSystemCreation created []',
  LeaderboardGroup: 'admin_leaderboards_groups 200 []',
  LeagueOverview: 'admin_leaderboards_leagues 200',

  Configuration: 'admin_configuration_get 200',
  ConfigurationRequest: 'admin_configuration_put body',
  ConfiguredMetric: 'Configuration metrics []',
  ConfiguredAchievement: 'Configuration achievements []',
  ConfiguredCondition: 'ConfiguredAchievement userAttributes []',
  ConfiguredPointsSystem: 'Configuration pointsSystems []',
  ConfiguredPointsLevel: 'ConfiguredPointsSystem levels []',
  ConfiguredPointsTrigger: 'ConfiguredPointsSystem triggers []',
  ConfiguredPointsBoost: 'ConfiguredPointsSystem boosts []',
  ConfiguredLeaderboard: 'Configuration leaderboards []',
  ConfiguredStreaks: 'Configuration streaks',
  ConfiguredMessages: 'Configuration messages',
  MessageTemplate: 'ConfiguredMessages templates []',
  ConfigurationUpdate: 'admin_configuration_put 200',
  ConfigurationDifference: 'admin_configuration_diff 200',
  ConfigurationChange: 'ConfigurationUpdate changes []',
  DemoResource: 'ConfigurationUpdate demo []',
  ConfigurationSchema: 'admin_configuration_schema_get 200',
  ConfigurationVersion: 'admin_configuration_versions_list 200 []',

  WebhookFilter: 'WebhookRequest filter |0',
  CreatedWebhook: 'WebhookCreation created []',
  WebhookSecret: 'admin_webhooks_rotate_secret 200',
  WebhookState: 'admin_webhooks_state 200',
  WebhookMessages: 'admin_webhooks_deliveries_list 200',
  WebhookMessage: 'WebhookMessages deliveries []',
  WebhookMessageDetails: 'admin_webhooks_deliveries_get 200',
  WebhookAttempt: 'WebhookMessageDetails attempts []',
  WebhookResendRequest: 'admin_webhooks_resend body',
  WebhookResend: 'admin_webhooks_resend 202',
  WebhookTestRequest: 'admin_webhooks_test body',

  MessageChannel: 'admin_messages_channel_get 200',
  MessageChannelRequest: 'admin_messages_channel_put body',
  MessageTestRequest: 'admin_messages_channel_test body',
  MessageTestResult: 'admin_messages_channel_test 200',
  MessageFeedback: 'admin_messages_feedback_get 200',
  MessageFeedbackFormat: ['MessageFeedback format', 'MessageFeedbackAddress format', 'MessageFeedbackRequest format'],
  MessageFeedbackAddress: 'admin_messages_feedback_put 200',
  MessageFeedbackRequest: 'admin_messages_feedback_put body',
  Emails: 'admin_messages_list 200',
  Email: 'Emails messages []',
  SuppressedAddresses: 'admin_messages_suppressed_list 200',
  SuppressedAddress: 'SuppressedAddresses addresses []',

  StreakSettings: 'admin_streaks_settings_get 200',
  StreakSettingsChanges: 'admin_streaks_settings_update body',
  FreezeGrantRequest: 'admin_streaks_freezes_create body',
  FreezeGrant: 'admin_streaks_freezes_create 201',
  PauseRequest: 'admin_streaks_pauses_create body',
  PauseCreation: 'admin_streaks_pauses_create 201',
  StreakPause: 'PauseCreation created []',
  StreakResetRequest: 'admin_streaks_reset body',
  StreakReset: 'admin_streaks_reset 200',
  StreakRestoreRequest: 'admin_streaks_restore body',
  StreakRestoration: 'admin_streaks_restore 201',

  UserKeyRequest: 'admin_application_api_keys_create body []',
  UserKeyCreation: 'admin_application_api_keys_create 201',
  UserKey: 'UserKeyCreation created []',
  UserKeyInfo: 'admin_application_api_keys_list 200 []',
  CreatedAdminKey: 'AdminKeyCreation created []',
  Session: 'admin_session_get 200',
  SessionRequest: 'admin_session_create body',

  BatchEvent: 'admin_metrics_batch_events body []',
  BatchResults: 'admin_metrics_batch_events 200',
  BatchResult: 'BatchResults results []',
  AcceptedBatch: 'admin_metrics_batch_events 202',
  RefusedEvent: 'AcceptedBatch refused []',

  DeletedUsers: 'admin_users_delete 200',
  FilteredUsers: 'admin_users_filtered 200',
  UserVisibility: 'admin_users_get 200',
  UserVisibilityChanges: 'admin_users_update body',
  UserExport: 'admin_users_export 200',
  UserMergeRequest: 'admin_users_merge body',
  UserMerge: 'admin_users_merge 200',
  UserGuard: 'admin_users_guards 200 []',
  ClaimCancelRequest: 'admin_claims_cancel body',
  UserSpendings: 'admin_users_spendings 200',
  UserSpending: 'UserSpendings spendings []',
  UserTimeline: 'admin_users_timeline 200',
  TimelineResource: 'UserTimeline entries [] |0 metric',
  TimelineRule: 'UserTimeline entries [] |4 rule |0',
  ImportedUser: 'admin_imports_create body []',
  ImportResult: 'admin_imports_create 201',

  EventReversalRequest: 'admin_events_reverse body',
  EventReversals: 'admin_events_reverse 200',
  EventReversal: 'EventReversals reversals []',
  OneEventReversalRequest: 'admin_events_reverse_one body',
  EventSettings: 'admin_events_settings_get 200',
  EventSettingsChanges: 'admin_events_settings_update body',
  QuarantinedEvents: 'admin_quarantine_list 200',
  QuarantinedEvent: 'QuarantinedEvents events []',
  QuarantinedEventIds: 'admin_quarantine_release body',
  QuarantineReleases: 'admin_quarantine_release 200',
  QuarantineRelease: 'QuarantineReleases released []',

  MessagePreviewRequest: 'admin_messages_preview body',
  MessagePreview: 'admin_messages_preview 200',

  Recomputation: 'admin_recomputations_list 200 []',
  RecomputationDetails: 'admin_recomputations_get 200',
  RecomputationRequest: 'admin_recomputations_create body',
  RecomputationFigures: 'Recomputation figures',
  RecomputationSample: 'RecomputationDetails samples gaining []',
  Backdating: 'admin_backdatings_list 200 []',
  LeaderboardFilling: 'admin_leaderboard_fillings_list 200 []',
  Job: 'admin_jobs_list 200 []',
  Verification: 'admin_verifications_list 200 []',
  VerificationDetails: 'admin_verifications_get 200',
  Spread: 'admin_spread_get 200',
  SpreadRequest: 'admin_spread_update body',
  SpreadJob: 'admin_spread_update 202',
  DeadLetter: 'admin_dead_letters_list 200 []',
  DeadLetterDetails: 'admin_dead_letters_get 200',

  AttentionItem: 'admin_attention_list 200 []',
  Activity: 'admin_activity_get 200',
  RecentCompletion: 'admin_activity_completions 200 []',
  AnalyticsSegments: 'admin_analytics_segments 200',
  UserAnalytics: 'admin_analytics_users 200',
  RetentionAnalytics: 'admin_analytics_retention 200',
  EngagementAnalytics: 'admin_analytics_engagement 200',
  MetricsAnalytics: 'admin_analytics_metrics 200',
  MetricAnalytics: 'admin_analytics_metric 200',
  AchievementsAnalytics: 'admin_analytics_achievements 200',
  AchievementAnalytics: 'admin_analytics_achievement 200',
  PointsAnalytics: 'admin_analytics_points 200',
  PointsSystemAnalytics: 'admin_analytics_points_system 200',
  StreakAnalytics: 'admin_analytics_streaks 200',
  LeaderboardAnalytics: 'admin_analytics_leaderboards 200',

  Organisation: 'admin_organisation_get 200',
  OrganisationChanges: 'admin_organisation_update body',
  Settings: 'admin_settings_get 200',
  SettingsChanges: 'admin_settings_update body',
  Environment: 'admin_environments_list 200 []',
  System: 'admin_system_get 200',
  AuditLogEntry: 'admin_audit_log_list 200 []',
  LoggedRequest: 'admin_requests_list 200 []',
  Clock: 'admin_clock_get 200',
};

/**
 * The names of schemas in the OpenAPI documents, each with its place: an operation (of a webhook: `webhooks_` and its type) and
 * `body` or a status, or another name; then the fields from there. `[]` is the item of a list, `{}` the value of a map, `|0` the
 * first alternative. An equal schema at another place gets the same name, so a name means one schema in both documents; of two
 * names for equal schemas, each has its own place, and the first has all others.
 */
export const SCHEMA_NAMES: Readonly<Record<string, Places>> = {
  ...applicationNames,
  ...messageNames,
  ...adminNames,
};
