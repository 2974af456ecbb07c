import { createConfigurationStore } from '../catalog/configuration/store.ts';
import { createResources } from '../catalog/resources.ts';
import { createAchievementCompletion } from '../engine/achievements/achievement-completion.ts';
import { createAchievementReads } from '../engine/achievements/achievement-reads.ts';
import { AchievementPreview } from '../engine/achievements/preview.ts';
import { createAnalyticsReads } from '../engine/analytics/analytics-reads.ts';
import { CostlyReads } from '../engine/analytics/costly-reads.ts';
import { createGroupComparison } from '../engine/analytics/group-comparison.ts';
import { createAdvice } from '../engine/advice/advice.ts';
import { createAttention } from '../engine/advice/attention.ts';
import { createActivityReads } from '../engine/history/activity.ts';
import { createBatchIntake } from '../engine/events/batch-intake.ts';
import { createClockControl } from '../engine/schedule/clock-control.ts';
import { createLateEvents } from '../engine/corrections/late-events.ts';
import { createManyReversals } from '../engine/corrections/many-reversals.ts';
import { createReversals } from '../engine/corrections/reversals.ts';
import { createDeadLetters } from '../engine/persist/dead-letters.ts';
import { createEventBatcher } from '../engine/events/event-batcher.ts';
import { createEventEngine } from '../engine/events/event-engine.ts';
import { appliedReplies, lookUpKeys, persistedReplies } from '../engine/events/stored-replies.ts';
import { createHistoryReads } from '../engine/history/history-reads.ts';
import { ReadLimits } from '../engine/history/read-limits.ts';
import { createWrappedReads } from '../engine/history/wrapped-reads.ts';
import { createImports } from '../engine/imports/imports.ts';
import { createJobs } from '../engine/schedule/jobs.ts';
import { createLeagueReads } from '../engine/leaderboards/reads/league-reads.ts';
import { createLeaderboardReads } from '../engine/leaderboards/reads/leaderboard-reads.ts';
import { createEventRanks } from '../engine/leaderboards/wide-ranks.ts';
import { setsOfBoards } from '../engine/leaderboards/stray-sets.ts';
import { Live } from '../engine/live/streams.ts';
import { MessageIds } from '../engine/live/stream-message-id.ts';
import { leftOut } from '../engine/notifications/left-out.ts';
import { Reporter } from '../engine/notifications/reporter.ts';
import { createFeedback } from '../engine/messages/feedback.ts';
import { createFeedbackSettings } from '../engine/messages/feedback-settings.ts';
import { createMessageChannels } from '../engine/messages/channels.ts';
import { createEmailLog } from '../engine/messages/message-log.ts';
import { createTemplateTests } from '../engine/messages/template-tests.ts';
import { createMessagePreview, createPushPreview } from '../engine/messages/preview.ts';
import { createPushChannels } from '../engine/messages/push/push-channels.ts';
import { createSealer } from '../engine/messages/sealed-secrets.ts';
import { createUnsubscribing } from '../engine/messages/unsubscribe.ts';
import { createSignedTokens } from '../engine/messages/signed-tokens.ts';
import { SeenMessages } from '../engine/messages/seen-messages.ts';
import { trackingLinksOf } from '../engine/messages/tracking-links.ts';
import { unsubscribeLinksOf } from '../engine/messages/unsubscribe-links.ts';
import { PointsReads } from '../engine/points/points-reads.ts';
import { createClaimReads } from '../engine/rewards/claim-reads.ts';
import { createClaims } from '../engine/rewards/claims.ts';
import { createSpendings } from '../engine/points/spendings.ts';
import { createUserPoints } from '../engine/points/user-points.ts';
import { createQuarantine } from '../engine/corrections/quarantine.ts';
import { createSpreads } from '../engine/rebuild/conversion.ts';
import { createVerifications } from '../engine/rebuild/verifications.ts';
import { createRecomputations } from '../engine/recomputations/recomputations.ts';
import { createStreakAdmin } from '../engine/streaks/streak-admin.ts';
import { StreakRankings } from '../engine/streaks/streak-rankings.ts';
import { createStreakReads } from '../engine/streaks/streak-reads.ts';
import { createTimeline } from '../engine/timeline/timeline.ts';
import { UserMerges } from '../engine/users/user-merges.ts';
import { aliasOf } from '../redis/aliases.ts';
import { knownParts } from '../redis/parts.ts';
import { createHiding } from '../engine/users/hiding.ts';
import { createUserDeletion } from '../engine/users/user-deletion.ts';
import { createUserDirectory } from '../engine/users/user-directory.ts';
import { createUserExport } from '../engine/users/user-export.ts';
import { createUserProfiles } from '../engine/users/user-profiles.ts';
import { sendTest, createWebhookDeliveries } from '../engine/webhooks/webhook-deliveries.ts';
import type { Services } from '../operations/services.ts';
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
import type { FrontendCore } from './frontend-core.ts';
import { systemState } from './system-state.ts';
import { type TenantPart } from '../redis/keys.ts';

/** Creates all features of a frontend. Each uses only the core, which contains everything that several features share. */
export function createServices(core: FrontendCore, live: Live): Services {
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

/** Accepting events, singly and in batches, and handling those that were not applied or stored. */
function createEvents(core: FrontendCore) {
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
  } satisfies Partial<Services>;
}

function createUsers(core: FrontendCore) {
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
    aliasOf: (tenantNo, userId) => aliasOf(redis, tenantNo, userId),
    isWide: (tenantNo) => knownParts(redis, tenantNo).length > 1,
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
  } satisfies Partial<Services>;
}

function createAchievements(core: FrontendCore) {
  const { redis, pool, scripts, clock, users, caughtUp } = core;
  return {
    achievements: createAchievementReads(redis, users),
    achievementPreview: new AchievementPreview({ redis, pool, clock, caughtUp }),
    completion: createAchievementCompletion(scripts, clock),
    backdatings: { list: (tenantNo) => latestJobs(pool, { kind: 'backdating', tenantNo }) },
  } satisfies Partial<Services>;
}

function createPoints(core: FrontendCore) {
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
  } satisfies Partial<Services>;
}

/** Reads of many sums, with the connections of other long reads. */
function createAnalytics(core: FrontendCore) {
  const { redis, historyPool: pool, clock, caughtUp, controlShare } = core;
  const points = new PointsReads(redis, pool, clock, caughtUp);
  const costly = new CostlyReads();
  return {
    analytics: createAnalyticsReads({ redis, pool, clock, caughtUp, points, controlShare, costly }),
    groupComparison: createGroupComparison({ pool, clock, caughtUp, controlShare, costly }),
  } satisfies Partial<Services>;
}

function createStreaks(core: FrontendCore) {
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
  } satisfies Partial<Services>;
}

function createLeaderboards(core: FrontendCore) {
  const { redis, pool, clock, users, past } = core;
  const reads = createLeaderboardReads({ redis, users, clock, past });
  return {
    leaderboards: reads,
    leagues: createLeagueReads({ redis, pool, clock, users, leaderboards: reads }),
    boardFills: { list: (tenantNo) => listFills(pool, tenantNo) },
  } satisfies Partial<Services>;
}

/** Reversing events, recomputing their consequences, and comparing Redis with Postgres. */
function createCorrections(core: FrontendCore) {
  const { pool, scripts, clock, ids, recordAudit, persisted, wakeJobs } = core;
  const isStored = (id: string): Promise<boolean> => isReversalStored(pool, id);
  const reversals = createReversals({ pool, scripts, isStored, clock, recordAudit, persisted });
  return {
    reversals,
    manyReversals: createManyReversals({ pool, ids, reversals, persisted }),
    recomputations: createRecomputations(pool, clock, wakeJobs),
    verifications: createVerifications(core.redis, pool, clock, wakeJobs),
  } satisfies Partial<Services>;
}

function createHistory(core: FrontendCore) {
  const { redis, historyPool: pool, clock, past, controlShare, usersWithHistory: users } = core;
  const limits = new ReadLimits();
  return {
    history: createHistoryReads({ pool, limits, users }),
    wrapped: createWrappedReads({ pool, limits, redis, past, clock, users, controlShare }),
  } satisfies Partial<Services>;
}

/** The live streams. They listen to changes of the organisation, so they are created before these are followed. */
export function createLive(core: FrontendCore): Live {
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
  changes.listen({ organisationChanged: live.organisationChanged });
  return live;
}

function createWebhooks(core: FrontendCore) {
  const { pool, clock, deliveriesQueued, wakeJobs } = core;
  const deliveries = { pool, clock, onQueued: deliveriesQueued, wake: wakeJobs };
  return {
    webhookSecrets: (tenantNo, ids) => webhookSecrets(pool, tenantNo, ids),
    webhookDeliveries: createWebhookDeliveries(deliveries),
    testWebhook: (own, asked) => sendTest(deliveries, own, asked),
  } satisfies Partial<Services>;
}

function createMessages(core: FrontendCore, { profiles, streaks }: Pick<Services, 'profiles' | 'streaks'>) {
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
  } satisfies Partial<Services>;
}

function createConfiguration(core: FrontendCore) {
  const { pool, announce, clock, catalogs } = core;
  const { webhookAllowPrivate } = core.settings;
  return {
    attributeValues: (tenantNo, attribute, limit) => attributeValues(pool, tenantNo, attribute, limit),
    catalogs,
    configuration: createConfigurationStore({ pool, announce, clock, catalogs }),
    resources: createResources({ pool, announce, clock, catalogs, settings: { webhookAllowPrivate } }),
  } satisfies Partial<Services>;
}

/** The name that users know. */
const appNameOf = ({ name, branding }: OrganisationRow): string => branding.appName ?? name;

/** Tenants, keys, and the administrators' view of the installation. */
function createAdministration(core: FrontendCore, { analytics }: Pick<Services, 'analytics'>) {
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
    testClock:
      testClock && createClockControl({ pool, redis, clock: testClock, patienceMs: core.settings.clockPatienceMs }),
    environment: { ...core.settings.environment, priority: 1 },
    system: systemState({ redis, pool, isOpen: (shard) => guard.isOpen(shard) }),
    jobs: createJobs(pool, clock, wakeJobs),
    spreads: createSpreads(redis, pool, clock, wakeJobs),
    audit: { read: (query) => readAudit(pool, query) },
    recordAudit: core.recordAudit,
  } satisfies Partial<Services>;
}
