import type { Clock } from '../clock.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { ConfigurationStore } from '../catalog/configuration/store.ts';
import type { Resources } from '../catalog/resources.ts';
import type { Author } from '../domain/administration/author.ts';
import type { NotificationType } from '../domain/notifications/notification.ts';
import type { SystemState } from '../domain/administration/system.ts';
import type { createAdvice } from '../engine/advice/advice.ts';
import type { AttentionItem } from '../domain/administration/attention.ts';
import type { Environment } from '../domain/settings.ts';
import type { AchievementCompletion } from '../engine/achievements/achievement-completion.ts';
import type { AchievementPreview } from '../engine/achievements/preview.ts';
import type { AchievementReads } from '../engine/achievements/achievement-reads.ts';
import type { ClockControl } from '../engine/schedule/clock-control.ts';
import type { DeadLetters } from '../engine/persist/dead-letters.ts';
import type { ActivityReads } from '../engine/history/activity.ts';
import type { AnalyticsReads } from '../engine/analytics/analytics-reads.ts';
import type { GroupComparison } from '../engine/analytics/group-comparison.ts';
import type { BatchIntake } from '../engine/events/batch-intake.ts';
import type { EventEngine } from '../engine/events/event-engine.ts';
import type { ManyReversals } from '../engine/corrections/many-reversals.ts';
import type { Reversals } from '../engine/corrections/reversals.ts';
import type { Spreads } from '../engine/rebuild/conversion.ts';
import type { Verifications } from '../engine/rebuild/verifications.ts';
import type { Recomputations } from '../engine/recomputations/recomputations.ts';
import type { HistoryReads } from '../engine/history/history-reads.ts';
import type { Jobs } from '../engine/schedule/jobs.ts';
import type { Imports } from '../engine/imports/imports.ts';
import type { WrappedReads } from '../engine/history/wrapped-reads.ts';
import type { Live } from '../engine/live/streams.ts';
import type { LeagueReads } from '../engine/leaderboards/reads/league-reads.ts';
import type { LeaderboardReads } from '../engine/leaderboards/reads/leaderboard-reads.ts';
import type { PointsReads } from '../engine/points/points-reads.ts';
import type { ClaimReads } from '../engine/rewards/claim-reads.ts';
import type { Claims } from '../engine/rewards/claims.ts';
import type { Spendings } from '../engine/points/spendings.ts';
import type { UserPoints } from '../engine/points/user-points.ts';
import type { Quarantine } from '../engine/corrections/quarantine.ts';
import type { StreakAdmin } from '../engine/streaks/streak-admin.ts';
import type { StreakRankings } from '../engine/streaks/streak-rankings.ts';
import type { StreakReads } from '../engine/streaks/streak-reads.ts';
import type { Feedback } from '../engine/messages/feedback.ts';
import type { FeedbackSettings } from '../engine/messages/feedback-settings.ts';
import type { MessageChannels } from '../engine/messages/channels.ts';
import type { PreviewMessage, PreviewPush } from '../engine/messages/preview.ts';
import type { TemplateTests } from '../engine/messages/template-tests.ts';
import type { PushChannelsService } from '../engine/messages/push/push-channels.ts';
import type { EmailLog } from '../engine/messages/message-log.ts';
import type { SeenMessages } from '../engine/messages/seen-messages.ts';
import type { TrackingLinks } from '../engine/messages/tracking-links.ts';
import type { Unsubscribing } from '../engine/messages/unsubscribe.ts';
import type { Timeline } from '../engine/timeline/timeline.ts';
import type { UserDeletion } from '../engine/users/user-deletion.ts';
import type { Hiding } from '../engine/users/hiding.ts';
import type { UserMerges } from '../engine/users/user-merges.ts';
import type { UserDirectory } from '../engine/users/user-directory.ts';
import type { UserExport } from '../engine/users/user-export.ts';
import type { UserProfiles } from '../engine/users/user-profiles.ts';
import type { UserReads } from '../engine/users/user-reads.ts';
import type { OwnWebhook, WebhookDeliveries } from '../engine/webhooks/webhook-deliveries.ts';
import type { Backdating } from '../engine/backfills/backdating.ts';
import type { AdminKeys } from '../postgres/access/admin-keys.ts';
import type { AuditQuery, AuditRow, RecordAudit } from '../postgres/access/audit.ts';
import type { SeenJobs } from '../postgres/jobs.ts';
import type { BoardFill } from '../postgres/boards/progress.ts';
import type { ApplicationKeys } from '../postgres/access/application-keys.ts';
import type { Sessions } from '../postgres/access/sessions.ts';
import type { Tenants } from '../postgres/tenants.ts';
import type { AttributeValueCount } from '../postgres/users/selections.ts';
import type { RecentRequests } from '../redis/recent-requests.ts';
import type { WholeDeliveryRow } from '../postgres/webhooks/deliveries.ts';
import type { ShownSecret } from '../postgres/webhooks/secrets.ts';

export interface Services {
  activity: ActivityReads;
  analytics: AnalyticsReads;
  advice: ReturnType<typeof createAdvice>;
  /** See `createAttention`. */
  attention: (seen: SeenJobs) => Promise<AttentionItem[]>;
  groupComparison: GroupComparison;
  boardFills: { list(tenantNo: number): Promise<BoardFill[]> };
  backdatings: { list(tenantNo: number): Promise<Backdating[]> };
  clock: Clock;
  /** `null` without a test clock. */
  testClock: ClockControl | null;
  /** See `attributeValues` of `src/postgres`. */
  attributeValues: (
    tenantNo: number,
    attribute: { no: number; key: string; type: 'user' | 'event' },
    limit: number,
  ) => Promise<AttributeValueCount[]>;
  catalogs: Catalogs;
  configuration: ConfigurationStore;
  resources: Resources;
  events: EventEngine;
  batches: BatchIntake;
  users: UserReads;
  /** The user for whom an ID stands: another one after merges. */
  aliasOf: (tenantNo: number, userId: string) => Promise<string>;
  /** Whether a tenant is spread over several shards. */
  isWide: (tenantNo: number) => boolean;
  merges: UserMerges;
  profiles: UserProfiles;
  hiding: Hiding;
  directory: UserDirectory;
  deletion: UserDeletion;
  userExport: UserExport;
  quarantine: Quarantine;
  timeline: Timeline;
  messageChannels: MessageChannels;
  previewMessage: PreviewMessage;
  pushChannels: PushChannelsService;
  previewPush: PreviewPush;
  /** Sends rendered templates to an administrator. */
  testTemplates: TemplateTests;
  emailLog: EmailLog;
  unsubscribing: Unsubscribing;
  tracking: TrackingLinks;
  seenMessages: SeenMessages;
  feedback: Feedback;
  feedbackSettings: FeedbackSettings;
  achievements: AchievementReads;
  achievementPreview: AchievementPreview;
  completion: AchievementCompletion;
  points: PointsReads;
  userPoints: UserPoints;
  spendings: Spendings;
  claims: Claims;
  claimReads: ClaimReads;
  streaks: StreakReads;
  streakRankings: StreakRankings;
  streakAdmin: StreakAdmin;
  leaderboards: LeaderboardReads;
  leagues: LeagueReads;
  live: Live;
  history: HistoryReads;
  imports: Imports;
  reversals: Reversals;
  manyReversals: ManyReversals;
  jobs: Jobs;
  spreads: Spreads;
  recomputations: Recomputations;
  verifications: Verifications;
  wrapped: WrappedReads;
  tenants: Tenants;
  system: () => Promise<SystemState>;
  environment: Environment;
  applicationKeys: ApplicationKeys;
  webhookSecrets: (tenantNo: number, ids: string[]) => Promise<Map<string, ShownSecret>>;
  webhookDeliveries: WebhookDeliveries;
  /** Sends a webhook an example; see `sendTest`. */
  testWebhook: (own: OwnWebhook, asked: { type: NotificationType; by: Author }) => Promise<WholeDeliveryRow>;
  adminKeys: AdminKeys;
  sessions: Sessions;
  recentRequests: RecentRequests;
  /** Adds entries to the audit log for actions outside of a Postgres transaction. */
  recordAudit: RecordAudit;
  deadLetters: DeadLetters;
  /** `onlyTenant`: excludes the organisation's entries. */
  audit: { read(query: AuditQuery & { tenantNo: number; onlyTenant: boolean }): Promise<AuditRow[]> };
}
