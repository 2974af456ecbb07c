import type { Pool } from 'pg';
import type { Redis } from 'ioredis';
import { announce, JOB_ADDED } from '../catalog/announce.ts';
import { Catalogs } from '../catalog/catalogs.ts';
import { Changes } from '../catalog/changes.ts';
import { ConfigurationStore } from '../catalog/configuration-store.ts';
import { Resources } from '../catalog/resources.ts';
import type { Clock } from '../clock.ts';
import { ENVIRONMENT, IDEMPOTENCY_KEYS_PER_DAY } from '../env.ts';
import { AchievementPreview } from '../engine/achievements/preview.ts';
import { AchievementCompletion } from '../engine/achievements/achievement-completion.ts';
import { AchievementReads } from '../engine/achievements/achievement-reads.ts';
import { ActivityReads } from '../engine/activity/activity-reads.ts';
import { BatchIntake } from '../engine/batches/batch-intake.ts';
import { ClockControl } from '../engine/clock/clock-control.ts';
import { TestClock } from '../engine/clock/test-clock.ts';
import { LateEvents } from '../engine/corrections/late-events.ts';
import { DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import { BacklogWatch } from '../engine/events/backlog-watch.ts';
import { EventBatcher } from '../engine/events/event-batcher.ts';
import { EventEngine } from '../engine/events/event-engine.ts';
import { KeyedIds } from '../engine/ids/keyed-ids.ts';
import { MessageIds } from '../engine/live/message-id.ts';
import { appliedReplies, persistedReplies } from '../engine/events/persisted-replies.ts';
import { lookUpKeys } from '../engine/events/look-up-keys.ts';
import { ManyReversals } from '../engine/corrections/many-reversals.ts';
import { Reversals } from '../engine/corrections/reversals.ts';
import { Jobs } from '../engine/jobs/jobs.ts';
import { Recomputations } from '../engine/recomputations/recomputations.ts';
import { HistoryReads } from '../engine/history/history-reads.ts';
import { ReadLimits } from '../engine/history/read-limits.ts';
import { WrappedReads } from '../engine/history/wrapped-reads.ts';
import { KeptRuns } from '../engine/leaderboards/kept-runs.ts';
import { leftOut } from '../engine/notifications/left-out.ts';
import { Reporter } from '../engine/notifications/reporter.ts';
import { Live } from '../engine/live/live.ts';
import type { LiveLimits } from '../engine/live/connection-limits.ts';
import { LeaderboardReads } from '../engine/leaderboards/leaderboard-reads.ts';
import { PointsReads } from '../engine/points/points-reads.ts';
import { UserPoints } from '../engine/points/user-points.ts';
import { CaughtUpUsers } from '../engine/users/caught-up-users.ts';
import { CaughtUp } from '../engine/persisted/caught-up.ts';
import { untilPersisted } from '../engine/persisted/until-persisted.ts';
import { StreakAdmin } from '../engine/streaks/streak-admin.ts';
import { ownVersion } from '../engine/rebuild/marks.ts';
import { RedisGuards } from '../engine/availability/redis-guards.ts';
import { setsOfBoards } from '../engine/leaderboards/sets-of-boards.ts';
import { StreakRankings } from '../engine/streaks/streak-rankings.ts';
import { StreakReads } from '../engine/streaks/streak-reads.ts';
import { Quarantine } from '../engine/quarantine/quarantine.ts';
import { UserDeletion } from '../engine/users/user-deletion.ts';
import { Imports } from '../engine/imports/imports.ts';
import { Hiding } from '../engine/users/hiding.ts';
import { UserDirectory } from '../engine/users/user-directory.ts';
import { Timeline } from '../engine/timeline/timeline.ts';
import { UserExport } from '../engine/users/user-export.ts';
import { UserProfiles } from '../engine/users/user-profiles.ts';
import { UserReads } from '../engine/users/user-reads.ts';
import { sendTest } from '../engine/webhooks/test-delivery.ts';
import { WebhookDeliveries } from '../engine/webhooks/webhook-deliveries.ts';
import type { Log } from '../log/log.ts';
import type { Services } from '../operations/services.ts';
import { AdminKeys } from '../postgres/admin-keys.ts';
import { readAudit } from '../postgres/audit/read-audit.ts';
import { AuditTrail } from '../postgres/audit/audit-trail.ts';
import { latestJobs } from '../postgres/jobs.ts';
import { listFills } from '../postgres/boards/fills.ts';
import { ApplicationKeys } from '../postgres/application-keys.ts';
import { findKeys } from '../postgres/find-key.ts';
import { createPool } from '../postgres/pool.ts';
import { findSessionEnds } from '../postgres/sessions/session-rows.ts';
import { Sessions } from '../postgres/sessions/sessions.ts';
import { isStreakCallStored } from '../postgres/streaks/is-streak-call-stored.ts';
import { isReversalStored } from '../postgres/corrections/is-reversal-stored.ts';
import { Tenants } from '../postgres/tenants.ts';
import { OwnVersion } from '../postgres/running-versions.ts';
import { webhookSecrets } from '../postgres/webhook-secrets.ts';
import { someReady } from '../redis/client.ts';
import { ClockSkew } from '../redis/clock-skew.ts';
import { logOutages } from '../redis/log-outages.ts';
import { DeliveryHints } from '../redis/delivery-hints.ts';
import { shardOf } from '../redis/keys.ts';
import { Scripts } from '../engine/scripts.ts';
import { BATCH_QUEUE, WakeUp } from '../redis/wake-up.ts';
import type { Traces } from '../traces/traces.ts';
import { connectRedis } from '../engine/shards/connect-redis.ts';
import { FrontendMetrics } from './frontend-metrics.ts';
import { watchRedisServers } from './redis-server-metrics.ts';
import { systemState } from './system-state.ts';

export interface Laurel {
  services: Services;
  metrics: FrontendMetrics;
  redis: Redis;
  pool: Pool;
  /**
   * Whether Redis is known to hold what Postgres does of a tenant, null: of any tenant: no request may be answered from it
   * otherwise.
   */
  isReady(tenantNo: number | null): boolean;
  /** Whether the shards of all tenants are served. */
  isWhole(): boolean;
  /** Whether replicas acknowledge what is written, or none has to: no write is taken otherwise. */
  areReplicasThere(): boolean;
  /** Whether so much waits for Postgres that events are refused. */
  isBacklogFull(): boolean;
  clockSkew: ClockSkew;
  /** What this process cannot serve though it is ready, a sentence each. */
  notices(): string[];
  /** Keys, tenants or the organisation changed, or may have: caches of them are to be dropped. */
  onOrganisationChanged(drop: () => void): void;
  /** To be called when nothing uses the services any more. */
  close(): Promise<void>;
}

/** Postgres connections of one frontend: reads and admin work; events do not use them. */
const POOL_SIZE = 10;
/** Twice this is the longest that a Postgres that hangs keeps a request waiting: for a connection, and for an answer. */
const POSTGRES_TIMEOUT_MS = 5_000;

/**
 * Those of reads of history: they leave the others to what is quick. Postgres itself ends a statement that takes too long, since
 * it would go on when nobody waits for it any more. Each reads by indexes, in one process: beside one user with very many events
 * Postgres expects as many of others, and would go through whole tables, or spend more on parallel workers and on compiling
 * than on the read.
 */
const HISTORY_POOL = {
  max: 6,
  timeoutMs: POSTGRES_TIMEOUT_MS,
  settings: {
    statement_timeout: `${POSTGRES_TIMEOUT_MS}`,
    enable_seqscan: 'off',
    max_parallel_workers_per_gather: '0',
    jit: 'off',
  },
};

/** Those of the guard, which may have to rebuild Redis: some of its statements take longer than a request may wait. */
const GUARD_POOL = { max: 4, timeoutMs: 60_000 };

/**
 * Connects to Redis, to one of several at least, and a migrated Postgres and makes everything that the operations are handed. Resolves when
 * the first catalog is loaded and notices of changes arrive; rejects, with nothing left open, if that fails.
 */
export async function openLaurel({
  redisUrl,
  acknowledgeMs = null,
  databaseUrl,
  backlogLimit,
  backlogLimitBytes = Infinity,
  idempotencyKeysPerDay = IDEMPOTENCY_KEYS_PER_DAY,
  webhookAllowPrivate = false,
  environment = ENVIRONMENT,
  liveLimits = { connections: Infinity, perUser: Infinity },
  clock: given,
  traces = null,
  log,
}: {
  redisUrl: string;
  /** How long a replica may take to have what was written; null: none has to. */
  acknowledgeMs?: number | null;
  databaseUrl: string;
  backlogLimit: number;
  backlogLimitBytes?: number;
  /** Of a user, on a UTC day; 0: any number. */
  idempotencyKeysPerDay?: number;
  webhookAllowPrivate?: boolean;
  /** How many live streams this process carries; any number unless said otherwise. */
  liveLimits?: LiveLimits;
  /** What this deployment is called. */
  environment?: { name: string; key: string };
  /** 'test': the one that the admin API sets. */
  clock: Clock | 'test';
  /** Makes spans; null: none are made. It stays the caller's to close. */
  traces?: Traces | null;
  log: Log;
}): Promise<Laurel> {
  const pool = createPool(databaseUrl, { max: POOL_SIZE, timeoutMs: POSTGRES_TIMEOUT_MS });
  const redis = await connectRedis(redisUrl, pool).catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });
  logOutages(redis, log);
  const guardPool = createPool(databaseUrl, GUARD_POOL);
  const historyPool = createPool(databaseUrl, HISTORY_POOL);
  const ownVersionRuns = new OwnVersion(guardPool, ownVersion());
  const guard = new RedisGuards({
    redis,
    pool: guardPool,
    log,
    acknowledgeMs,
    acknowledged: () => scripts.acknowledged,
  });

  const testClock = given === 'test' ? new TestClock({ pool, redis, worker: false }) : null;
  const clock = testClock ?? (given as Clock);
  const publish = (message: string): Promise<void> => announce(redis, message);
  const wakeJobs = (): Promise<void> => publish(JOB_ADDED);
  const trail = new AuditTrail({ pool, clock, log });
  const { record: recordAudit } = trail;
  const catalogs = new Catalogs({ pool });
  const tenants = new Tenants({
    pool,
    announce: publish,
    clock,
    onFailed: (error) => log.warn({ err: error }, 'the tenants could not be read; trying again'),
  });
  const changes = new Changes({ pool, redis });
  const backlog = new BacklogWatch({ redis, limit: backlogLimit, limitBytes: backlogLimitBytes });
  const clockSkew = new ClockSkew({ redis, clock, log });
  /** Asked before anything is written that is stored later. */
  const overloaded = (): boolean => {
    clockSkew.refuse();
    return backlog.exceeded();
  };
  const metrics = new FrontendMetrics();
  metrics.watchClock(clockSkew);
  const wakeUp = new WakeUp(redis);
  const batchWakeUp = new WakeUp(redis, BATCH_QUEUE);
  const deliveryHints = new DeliveryHints(redis);
  const scripts = new Scripts({ redis, clock, onWritten: (shard) => wakeUp.touched(shard), overloaded, traces });
  const batcher = new EventBatcher({
    redis,
    clock,
    scripts,
    findPersisted: (tenantNo, events) => persistedReplies({ redis, pool }, tenantNo, events),
    lookUpKeys: (tenantNo, questions) => lookUpKeys({ redis, pool }, tenantNo, questions),
    keysPerDay: idempotencyKeysPerDay,
    onCall: metrics.called,
  });

  watchRedisServers(metrics.registry, guard);

  let ids: KeyedIds;
  let live: Live | undefined;
  const close = async (): Promise<void> => {
    live?.close();
    await trail.close();
    await testClock?.close();
    await guard.close();
    await ownVersionRuns.close();
    changes.close();
    catalogs.close();
    tenants.close();
    backlog.stop();
    clockSkew.close();
    deliveryHints.close();
    await Promise.all([wakeUp.close(), batchWakeUp.close()]);
    redis.disconnect();
    await Promise.all([pool.end(), guardPool.end(), historyPool.end()]);
  };
  try {
    await ownVersionRuns.start();
    await someReady(redis);
    await clockSkew.start();
    await guard.start();
    await testClock?.start();
    ids = await KeyedIds.of(pool);
    live = new Live({
      redis,
      catalogs,
      findKeys: (prefixes) => findKeys(pool, prefixes),
      findSessionEnds: (hashes) => findSessionEnds(pool, hashes),
      tenants,
      controlShare: () => tenants.organisation().controlShare,
      clock,
      limits: liveLimits,
      ids: MessageIds.of(ids),
      log,
    });
    metrics.watchLive(live);
    changes.listen(catalogs);
    changes.listen({ organisationChanged: () => void tenants.organisationChanged() });
    changes.listen({ organisationChanged: live.organisationChanged });
    changes.listen({ organisationChanged: () => void guard.tenantsChanged() });
    await changes.start();
    // From then on changes are heard of; what came before is read.
    await Promise.all([tenants.refresh(), catalogs.load(0), backlog.measure()]);
    backlog.start();
  } catch (error) {
    await close();
    throw error;
  }

  const users = new UserReads(redis);
  const caughtUp = new CaughtUp({ redis, pool });
  const usersWithHistory = new CaughtUpUsers({ redis, caughtUp });
  const past = new KeptRuns(pool);
  const readLimits = new ReadLimits();
  const setsOfTenant = (tenantNo: number): Promise<string[]> => setsOfBoards({ redis, pool, clock }, tenantNo);
  const hiding = new Hiding({
    redis,
    pool,
    scripts,
    setsOfBoards: setsOfTenant,
    clock,
  });
  const applicationKeys = new ApplicationKeys({ pool, announce: publish, clock });
  const deliveries = { pool, clock, onQueued: () => deliveryHints.queued(), wake: wakeJobs };
  const persisted = (tenantNo: number): Promise<void> => untilPersisted({ redis, pool }, tenantNo);
  const reversals = new Reversals({
    pool,
    scripts,
    isStored: (id) => isReversalStored(pool, id),
    clock,
    recordAudit,
    persisted,
  });
  const isServed = (tenantNo: number): boolean => guard.isOpen(shardOf(tenantNo));
  const controlShare = (): number => tenants.organisation().controlShare;
  return {
    services: {
      activity: new ActivityReads({ redis, pool, clock, caughtUp }),
      boardFills: { list: (tenantNo) => listFills(pool, tenantNo) },
      backdatings: { list: (tenantNo) => latestJobs(pool, { kind: 'backdating', tenantNo }) },
      clock,
      testClock: testClock && new ClockControl({ pool, redis, clock: testClock }),
      catalogs,
      configuration: new ConfigurationStore({ pool, announce: publish, clock, catalogs }),
      resources: new Resources({
        pool,
        announce: publish,
        clock,
        catalogs,
        settings: { privateWebhooks: webhookAllowPrivate },
      }),
      events: new EventEngine({
        catalogs,
        batcher,
        ids,
        clock,
        overloaded,
        late: new LateEvents({ redis, pool, clock, log }),
      }),
      batches: new BatchIntake({
        redis,
        catalogs,
        clock,
        ids,
        withAddress: (tenantNo, userIds) => users.withAddress(tenantNo, userIds),
        onAccepted: (shard) => batchWakeUp.touched(shard),
        overloaded,
      }),
      users,
      profiles: new UserProfiles({ reads: users, scripts, hiding, clock, controlShare }),
      hiding,
      directory: new UserDirectory({ redis, pool, caughtUp, controlShare }),
      userExport: new UserExport({ redis, pool, users, clock, controlShare, recordAudit }),
      timeline: new Timeline({ pool, users: usersWithHistory }),
      deletion: new UserDeletion({
        redis,
        scripts,
        keys: applicationKeys,
        setsOfBoards: setsOfTenant,
        recordAudit,
      }),
      quarantine: new Quarantine({
        redis,
        pool,
        scripts,
        clock,
        findPersisted: (tenantNo, events) => appliedReplies({ redis, pool }, tenantNo, events),
        recordAudit,
      }),
      achievements: new AchievementReads({ redis, users }),
      achievementPreview: new AchievementPreview({ redis, pool, clock, caughtUp }),
      completion: new AchievementCompletion({ scripts, clock }),
      points: new PointsReads({ redis, pool, clock, caughtUp }),
      userPoints: new UserPoints({ pool, users: usersWithHistory, clock }),
      streaks: new StreakReads({ redis, pool, users: usersWithHistory, clock }),
      streakRankings: new StreakRankings({ redis, pool: historyPool, clock }),
      streakAdmin: new StreakAdmin({
        pool,
        users,
        scripts,
        isStored: (callId) => isStreakCallStored(pool, callId),
        clock,
        recordAudit,
        persisted,
      }),
      live,
      leaderboards: new LeaderboardReads({ redis, users, clock, past }),
      reversals,
      manyReversals: new ManyReversals({ pool, ids, reversals, persisted }),
      recomputations: new Recomputations({
        pool,
        clock,
        wake: wakeJobs,
      }),
      jobs: new Jobs({ pool, clock, wake: wakeJobs }),
      imports: new Imports({ redis, pool, scripts, recordAudit, clock }),
      history: new HistoryReads({ pool: historyPool, limits: readLimits, users: usersWithHistory }),
      wrapped: new WrappedReads({
        pool: historyPool,
        limits: readLimits,
        redis,
        past,
        clock,
        users: usersWithHistory,
        controlShare,
      }),
      tenants,
      system: systemState({ redis, pool, isOpen: (shard) => guard.isOpen(shard) }),
      environment: { ...environment, priority: 1 },
      webhookSecrets: (tenantNo, ids) => webhookSecrets(pool, tenantNo, ids),
      webhookDeliveries: new WebhookDeliveries(deliveries),
      testWebhook: (own, asked) => sendTest(deliveries, own, asked),
      applicationKeys,
      adminKeys: new AdminKeys({ pool, announce: publish, clock }),
      sessions: new Sessions({ pool, announce: publish, clock }),
      recordAudit,
      deadLetters: new DeadLetters({
        redis,
        pool,
        clock,
        reporter: new Reporter({ pool, catalogs, clock, onLeftOut: leftOut({ redis, log }) }),
        onRetried: (shard) => {
          wakeUp.touched(shard);
          deliveryHints.queued();
        },
      }),
      audit: { read: (query) => readAudit(pool, query) },
    },
    metrics,
    redis,
    pool,
    isReady: (tenantNo) => (tenantNo === null ? tenants.numbers().some(isServed) : isServed(tenantNo)),
    isWhole: () => tenants.numbers().every(isServed),
    areReplicasThere: () => guard.areReplicasThere,
    isBacklogFull: () => backlog.exceeded(),
    clockSkew,
    notices: () => guard.unnamed,
    onOrganisationChanged: (drop) => void changes.listen({ organisationChanged: drop }),
    close,
  };
}
