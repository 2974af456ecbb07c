import { createConfigurationStore } from '../catalog/configuration/store.ts';
import { createResources } from '../catalog/resources.ts';
import { createAchievementCompletion } from './achievements/achievement-completion.ts';
import { createAchievementReads } from './achievements/achievement-reads.ts';
import { AchievementPreview } from './achievements/preview.ts';
import { type AnalyticsReads, createAnalyticsReads } from './analytics/analytics-reads.ts';
import { CostlyReads } from './analytics/costly-reads.ts';
import { createGroupComparison } from './analytics/group-comparison.ts';
import { createAdvice } from './advice/advice.ts';
import { createAttention } from './advice/attention.ts';
import { createActivityReads } from './history/activity.ts';
import type { Backdating } from './backfills/backdating.ts';
import { createBatchIntake } from './events/batch-intake.ts';
import { createClockControl } from './schedule/clock-control.ts';
import { createLateEvents } from './corrections/late-events.ts';
import { createManyReversals } from './corrections/many-reversals.ts';
import { createReversals } from './corrections/reversals.ts';
import { createDeadLetters } from './persist/dead-letters.ts';
import { createEventBatcher } from './events/event-batcher.ts';
import { createEventEngine } from './events/event-engine.ts';
import { appliedReplies, lookUpKeys, persistedReplies } from './events/stored-replies.ts';
import { createHistoryReads } from './history/history-reads.ts';
import { ReadLimits } from './history/read-limits.ts';
import { createWrappedReads } from './history/wrapped-reads.ts';
import { createImports } from './imports/imports.ts';
import { createJobs } from './schedule/jobs.ts';
import { createLeagueReads } from './leaderboards/reads/league-reads.ts';
import { createLeaderboardReads } from './leaderboards/reads/leaderboard-reads.ts';
import { createEventRanks } from './leaderboards/wide-ranks.ts';
import { setsOfBoards } from './leaderboards/stray-sets.ts';
import { Live } from './live/streams.ts';
import { MessageIds } from './live/stream-message-id.ts';
import { leftOut } from './notifications/left-out.ts';
import { Reporter } from './notifications/reporter.ts';
import { createFeedback } from './messages/feedback.ts';
import { createFeedbackSettings } from './messages/feedback-settings.ts';
import { createMessageChannels } from './messages/channels.ts';
import { createEmailLog } from './messages/message-log.ts';
import { createTemplateTests } from './messages/template-tests.ts';
import { createMessagePreview, createPushPreview } from './messages/preview.ts';
import { createPushChannels } from './messages/push/push-channels.ts';
import { createSealer } from './messages/sealed-secrets.ts';
import { createUnsubscribing } from './messages/unsubscribe.ts';
import { createSignedTokens } from './messages/signed-tokens.ts';
import { SeenMessages } from './messages/seen-messages.ts';
import { trackingLinksOf } from './messages/tracking-links.ts';
import { unsubscribeLinksOf } from './messages/unsubscribe-links.ts';
import { PointsReads } from './points/points-reads.ts';
import { createClaimReads } from './rewards/claim-reads.ts';
import { createClaims } from './rewards/claims.ts';
import { createSpendings } from './points/spendings.ts';
import { createUserPoints } from './points/user-points.ts';
import { createQuarantine } from './corrections/quarantine.ts';
import { createSpreads } from './rebuild/conversion.ts';
import { createVerifications } from './rebuild/verifications.ts';
import { createRecomputations } from './recomputations/recomputations.ts';
import { createStreakAdmin } from './streaks/streak-admin.ts';
import { StreakRankings } from './streaks/streak-rankings.ts';
import { createStreakReads, type StreakReads } from './streaks/streak-reads.ts';
import { createTimeline } from './timeline/timeline.ts';
import { UserMerges } from './users/user-merges.ts';
import { aliasOf } from '../redis/aliases.ts';
import { knownParts } from '../redis/parts.ts';
import { createHiding } from './users/hiding.ts';
import { createUserDeletion } from './users/user-deletion.ts';
import { createUserDirectory } from './users/user-directory.ts';
import { createUserExport } from './users/user-export.ts';
import { createUserProfiles, type UserProfiles } from './users/user-profiles.ts';
import { createWebhookDeliveries, sendTest } from './webhooks/webhook-deliveries.ts';
import { createAdminKeys } from '../postgres/access/admin-keys.ts';
import { readAudit } from '../postgres/access/audit.ts';
import { listFills } from '../postgres/boards/progress.ts';
import { isReversalStored } from '../postgres/corrections/reversals.ts';
import { findKeys } from '../postgres/access/keys.ts';
import { latestJobs } from '../postgres/jobs.ts';
import { findSessionEnds, Sessions } from '../postgres/access/sessions.ts';
import { isStreakCallStored } from '../postgres/history/streaks.ts';
import { webhookSecrets } from '../postgres/webhooks/secrets.ts';
import type { OrganisationRow } from '../postgres/organisation.ts';
import { attributeValues } from '../postgres/users/selections.ts';
import { postgresDisk } from '../postgres/server-state.ts';
import { RecentRequests } from '../redis/recent-requests.ts';
import type { ServicesCore } from './core.ts';
import { systemState } from './availability/system-state.ts';
import { type TenantPart } from '../redis/keys.ts';

/** Creates all services of a frontend. Each uses only the core, which has everything that several of them share. */
export function createServices(core: ServicesCore, live: Live) {
  const users = createUsers(core);
  const streaks = createStreaks(core);
  const analytics = createAnalytics(core);
  return {
    ...createEvents(core),
    ...users,
    ...createAchievements(core),
    ...createPoints(core),
    ...analytics,
    ...streaks,
    ...createLeaderboards(core),
    ...createCorrections(core),
    ...createHistory(core),
    live,
    ...createWebhooks(core),
    ...createMessages(core, { ...users, ...streaks }),
    ...createConfiguration(core),
    ...createAdministration(core, analytics),
  };
}

export type Services = ReturnType<typeof createServices>;

/** Accepting events, singly and in batches, and handling those that were not applied or stored. */
function createEvents(core: ServicesCore) {
  const { redis, pool, log, catalogs, clock, ids, scripts, overloaded, users, recordAudit, deliveriesQueued } = core;
  const addRanks = createEventRanks(redis, log);
  const batcher = createEventBatcher({
    redis,
    clock,
    scripts,
    addRanks,
    findPersisted: (tenantNo, events) => persistedReplies({ redis, pool }, tenantNo, events),
    lookUpKeys: (tenantNo, questions) => lookUpKeys({ redis, pool }, tenantNo, questions),
    idempotencyKeysPerDay: core.settings.idempotencyKeysPerDay,
    onCall: core.metrics.called,
  });
  return {
    events: createEventEngine({
      catalogs,
      batcher,
      ids,
      clock,
      overloaded,
      late: createLateEvents(redis, pool, clock, log),
    }),
    batches: createBatchIntake({
      redis,
      catalogs,
      clock,
      ids,
      withAddress: (tenantNo, userIds) => users.withAddress(tenantNo, userIds),
      onAccepted: core.batchQueued,
      overloaded,
    }),
    quarantine: createQuarantine({
      redis,
      pool,
      scripts,
      clock,
      findPersisted: (tenantNo, events) => appliedReplies({ redis, pool }, tenantNo, events),
      recordAudit,
      addRanks,
    }),
    deadLetters: createDeadLetters({
      redis,
      pool,
      clock,
      reporter: new Reporter({ redis, pool, catalogs, clock, onLeftOut: leftOut(redis, log) }),
      onRetried: (shard) => {
        core.touched(shard);
        deliveriesQueued();
      },
    }),
  };
}

function createUsers(core: ServicesCore) {
  const { redis, pool, scripts, clock, users, caughtUp, applicationKeys, recordAudit, controlShare } = core;
  const setsOfPart = (part: TenantPart): Promise<string[]> => setsOfBoards(redis, pool, clock, part);
  const hiding = createHiding({ redis, pool, scripts, setsOfBoards: setsOfPart, clock });
  return {
    users,
    hiding,
    profiles: createUserProfiles({ reads: users, scripts, hiding, clock, controlShare }),
    directory: createUserDirectory({ redis, pool, caughtUp, controlShare, clock }),
    userExport: createUserExport({ redis, pool, users, clock, controlShare, recordAudit }),
    timeline: createTimeline({ pool, users: core.usersWithHistory }),
    activity: createActivityReads(redis, pool, clock, caughtUp),
    deletion: createUserDeletion({
      redis,
      pool,
      scripts,
      clock,
      keys: applicationKeys,
      setsOfBoards: setsOfPart,
      recordAudit,
    }),
    imports: createImports({ redis, pool, scripts, recordAudit, clock }),
    /** The user for whom an ID stands: another one after merges. */
    aliasOf: (tenantNo: number, userId: string) => aliasOf(redis, tenantNo, userId),
    /** Whether a tenant is spread over several shards. */
    isWide: (tenantNo: number) => knownParts(redis, tenantNo).length > 1,
    merges: new UserMerges({
      redis,
      pool,
      scripts,
      clock,
      controlShare,
      persisted: core.persisted,
      noteMerges: (tenantNo) => core.tenants.noteMerges(tenantNo),
      setsOfBoards: setsOfPart,
      recordAudit,
      wakeJobs: core.wakeJobs,
    }),
  };
}

function createAchievements(core: ServicesCore) {
  const { redis, pool, scripts, clock, users, caughtUp } = core;
  return {
    achievements: createAchievementReads(redis, users),
    achievementPreview: new AchievementPreview({ redis, pool, clock, caughtUp }),
    completion: createAchievementCompletion(scripts, clock),
    backdatings: {
      list: (tenantNo: number): Promise<Backdating[]> => latestJobs(pool, { kind: 'backdating', tenantNo }),
    },
  };
}

function createPoints(core: ServicesCore) {
  const { redis, pool, clock, caughtUp, scripts, ids, recordAudit, persisted } = core;
  const { idempotencyKeysPerDay, onClaimMoment: onMoment } = core.settings;
  const spendings = createSpendings({
    redis,
    pool,
    scripts,
    ids,
    clock,
    idempotencyKeysPerDay,
    recordAudit,
    persisted,
  });
  return {
    points: new PointsReads(redis, pool, clock, caughtUp),
    userPoints: createUserPoints(pool, core.usersWithHistory, clock),
    spendings,
    claims: createClaims({ redis, pool, spendings, ids, clock, recordAudit, persisted, onMoment }),
    claimReads: createClaimReads(redis, pool, clock, persisted),
  };
}

/** Reads of many sums, with the connections of other long reads. */
function createAnalytics(core: ServicesCore) {
  const { redis, historyPool: pool, clock, caughtUp, controlShare } = core;
  const points = new PointsReads(redis, pool, clock, caughtUp);
  const costly = new CostlyReads();
  return {
    analytics: createAnalyticsReads({ redis, pool, clock, caughtUp, points, controlShare, costly }),
    groupComparison: createGroupComparison({ pool, clock, caughtUp, controlShare, costly }),
  };
}

function createStreaks(core: ServicesCore) {
  const { redis, pool, scripts, clock, users, recordAudit, persisted } = core;
  return {
    streaks: createStreakReads(redis, pool, core.usersWithHistory, clock),
    streakRankings: new StreakRankings(redis, core.historyPool, clock),
    streakAdmin: createStreakAdmin({
      pool,
      users,
      scripts,
      isStored: (callId) => isStreakCallStored(pool, callId),
      clock,
      recordAudit,
      persisted,
    }),
  };
}

function createLeaderboards(core: ServicesCore) {
  const { redis, pool, clock, users, past } = core;
  const reads = createLeaderboardReads({ redis, users, clock, past });
  return {
    leaderboards: reads,
    leagues: createLeagueReads({ redis, pool, clock, users, leaderboards: reads }),
    boardFills: { list: (tenantNo: number) => listFills(pool, tenantNo) },
  };
}

/** Reversing events, recomputing their consequences, and comparing Redis with Postgres. */
function createCorrections(core: ServicesCore) {
  const { pool, scripts, clock, ids, recordAudit, persisted, wakeJobs } = core;
  const isStored = (id: string): Promise<boolean> => isReversalStored(pool, id);
  const reversals = createReversals({ pool, scripts, isStored, clock, recordAudit, persisted });
  return {
    reversals,
    manyReversals: createManyReversals({ pool, ids, reversals, persisted }),
    recomputations: createRecomputations(pool, clock, wakeJobs),
    verifications: createVerifications(core.redis, pool, clock, wakeJobs),
  };
}

function createHistory(core: ServicesCore) {
  const { redis, historyPool: pool, clock, past, controlShare, usersWithHistory: users } = core;
  const limits = new ReadLimits();
  return {
    history: createHistoryReads({ pool, limits, users }),
    wrapped: createWrappedReads({ pool, limits, redis, past, clock, users, controlShare }),
  };
}

/** The live streams. They listen to changes of the organisation, so they are created before these are followed. */
export function createLive(core: ServicesCore): Live {
  const { redis, pool, catalogs, tenants, controlShare, clock, ids, changes, signals, log } = core;
  const live = new Live({
    redis,
    signals,
    catalogs,
    findKeys: (prefixes) => findKeys(pool, prefixes),
    findSessionEnds: (hashes) => findSessionEnds(pool, hashes),
    tenants,
    controlShare,
    clock,
    limits: core.settings.liveLimits,
    ids: MessageIds.of(ids),
    log,
  });
  core.onClose(() => live.close());
  core.metrics.watchLive(live);
  changes.listen({
    credentialsChanged: live.credentialsChanged,
    organisationChanged: () => live.credentialsChanged(null),
  });
  return live;
}

function createWebhooks(core: ServicesCore) {
  const { pool, clock, deliveriesQueued, wakeJobs } = core;
  const deliveries = { pool, clock, onQueued: deliveriesQueued, wake: wakeJobs };
  return {
    webhookSecrets: webhookSecrets.bind(null, pool),
    webhookDeliveries: createWebhookDeliveries(deliveries),
    /** Sends a webhook an example. */
    testWebhook: sendTest.bind(null, deliveries),
  };
}

function createMessages(core: ServicesCore, { profiles, streaks }: { profiles: UserProfiles; streaks: StreakReads }) {
  const { redis, pool, announce, clock, catalogs, ids, tenants } = core;
  const { secretsKey, publicUrl, webhookAllowPrivate: allowPrivate } = core.settings;
  const sealer = secretsKey === null ? null : createSealer(secretsKey);
  const isTenant = (tenantNo: number): boolean => tenants.byNo(tenantNo) !== undefined;
  const tokens = createSignedTokens(
    ids.keyFor('addresses for reports about e-mails').export(),
    'laurel message feedback',
  );
  const { users } = core;
  const seen = new SeenMessages({
    pool,
    clock,
    catalogs,
    log: core.log,
    onOutcome: (outcome, count) => core.metrics.seen(outcome, count),
  });
  core.onClose(() => seen.close());
  const previewed = { catalogs, users, streaks, clock, organisation: () => tenants.organisation() };
  const sending = { allowPrivate, baseUrls: core.settings.pushServers };
  const testing = {
    messageChannels: createMessageChannels({ pool, announce, clock, sealer, publicUrl, allowPrivate }),
    pushChannels: createPushChannels({ pool, announce, clock, sealer, users, sending }),
    previewMessage: createMessagePreview(previewed),
    previewPush: createPushPreview(previewed),
  };
  return {
    ...testing,
    /** Sends rendered templates to an administrator. */
    testTemplates: createTemplateTests({ ...testing, users, redis }),
    emailLog: createEmailLog(pool, clock),
    unsubscribing: createUnsubscribing({
      links: unsubscribeLinksOf(ids),
      catalogs,
      profiles,
      isTenant,
      seen,
      appName: () => appNameOf(tenants.organisation()),
    }),
    tracking: trackingLinksOf(ids),
    seenMessages: seen,
    feedback: createFeedback({
      redis,
      pool,
      clock,
      tokens,
      catalogs,
      profiles,
      isTenant,
      onReport: (outcome, count) => core.metrics.reported(outcome, count),
    }),
    feedbackSettings: createFeedbackSettings(pool, clock, tokens, publicUrl),
  };
}

function createConfiguration(core: ServicesCore) {
  const { pool, announce, clock, catalogs } = core;
  const { webhookAllowPrivate } = core.settings;
  return {
    attributeValues: attributeValues.bind(null, pool),
    catalogs,
    configuration: createConfigurationStore({ pool, announce, clock, catalogs }),
    resources: createResources({ pool, announce, clock, catalogs, settings: { webhookAllowPrivate } }),
  };
}

/** The name that users know. */
const appNameOf = ({ name, branding }: OrganisationRow): string => branding.appName ?? name;

/** Tenants, keys, and the administrators' view of the installation. */
function createAdministration(core: ServicesCore, { analytics }: { analytics: AnalyticsReads }) {
  const { redis, pool, announce, clock, testClock, guard, wakeJobs, backlog } = core;
  const recentRequests = new RecentRequests(redis, () => core.tenants.organisation().multiTenancy);
  core.onClose(() => recentRequests.close());
  const { postgresDiskBytes } = core.settings;
  const disk = core.settings.disk ?? (postgresDiskBytes === null ? null : postgresDisk(pool, postgresDiskBytes));
  return {
    advice: createAdvice({ redis, pool: core.historyPool, clock, analytics, recentRequests }),
    attention: createAttention({ redis, pool, clock, backlog, disk }),
    tenants: core.tenants,
    applicationKeys: core.applicationKeys,
    adminKeys: createAdminKeys(pool, announce, clock),
    sessions: new Sessions({ pool, announce, clock }),
    recentRequests,
    clock,
    /** `null` without a test clock. */
    testClock:
      testClock && createClockControl({ pool, redis, clock: testClock, patienceMs: core.settings.clockPatienceMs }),
    environment: { ...core.settings.environment, priority: 1 },
    system: systemState({ redis, pool, isOpen: (shard) => guard.isOpen(shard) }),
    jobs: createJobs(pool, clock, wakeJobs),
    spreads: createSpreads(redis, pool, clock, wakeJobs),
    audit: { read: readAudit.bind(null, pool) },
    /** Adds entries to the audit log for actions outside of a Postgres transaction. */
    recordAudit: core.recordAudit,
  };
}
