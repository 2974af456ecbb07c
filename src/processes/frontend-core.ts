import { ENVIRONMENT, IDEMPOTENCY_KEYS_PER_DAY, type Env } from '../settings/env.ts';
import type { AttentionOptions } from '../engine/advice/attention.ts';
import { BacklogWatch } from '../engine/events/backlog-watch.ts';
import { KeyedIds } from '../engine/ids.ts';
import { createKeptRuns } from '../engine/leaderboards/kept-runs.ts';
import type { LiveLimits } from '../engine/live/streams.ts';
import { CaughtUp, CaughtUpUsers, type ReadPatience } from '../engine/persist/caught-up-reads.ts';
import { untilPersisted } from '../engine/persist/cursor-wait.ts';
import { Scripts } from '../engine/scripts.ts';
import { UserReads } from '../engine/users/user-reads.ts';
import type { Log } from '../telemetry/log.ts';
import { createApplicationKeys } from '../postgres/access/application-keys.ts';
import { AuditTrail } from '../postgres/access/audit.ts';
import type { PoolOptions } from '../postgres/pool.ts';
import { Tenants } from '../postgres/tenants.ts';
import { BATCH_QUEUE, WakeUp } from '../redis/wake-up.ts';
import type { ClaimsOptions } from '../engine/rewards/claims.ts';
import type { PushSenderOptions } from '../engine/messages/push/push-senders.ts';
import type { Core, FrontendEnv, ServicesCore } from '../engine/core.ts';
import { createCore, orClose, type CoreSettings } from './core.ts';
import { FrontendMetrics } from './frontend-metrics.ts';
import { watchRedisServers } from './process-metrics.ts';

/** The settings of a frontend, named as in `Env`. */
export interface FrontendSettings extends CoreSettings, Partial<FrontendEnv> {
  backlogLimit: Env['backlogLimit'];
  backlogLimitBytes?: Env['backlogLimitBytes'];
  /** Limits on the live streams of this process; unlimited by default. */
  liveLimits?: LiveLimits;
  pushServers?: PushSenderOptions['baseUrls'];
  onClaimMoment?: ClaimsOptions['onMoment'];
  /** See `ClockControlOptions`. */
  clockPatienceMs?: number;
  /** See `createAttention`; by default from `postgresDiskBytes`. */
  disk?: AttentionOptions['disk'];
  /** See `CaughtUp`. */
  readPatience?: ReadPatience;
  /** How long a connection and a statement may take (ms). */
  postgresTimeoutMs?: number;
}

interface FrontendCore extends ServicesCore {
  metrics: FrontendMetrics;
}

/** Postgres connections of one frontend, for reads and admin work. Events do not use them. */
const POOL_SIZE = 10;
/** A Postgres that hangs delays a request by at most twice this: once for a connection, once for the response. */
const POSTGRES_TIMEOUT_MS = 5_000;

/**
 * A separate pool for history reads, so that slow ones do not block quick ones. `statement_timeout` ends a statement in
 * Postgres even if no client waits for it any longer. Sequential scans, parallel workers and JIT are off: once one user has
 * very many events, the planner expects as many of every user, and would scan whole tables or spend more on parallel workers
 * and compiling than on the read.
 */
export const historyPool = (timeoutMs = POSTGRES_TIMEOUT_MS): PoolOptions => ({
  max: 6,
  timeoutMs,
  settings: {
    statement_timeout: `${timeoutMs}`,
    enable_seqscan: 'off',
    max_parallel_workers_per_gather: '0',
    jit: 'off',
  },
});

/** The guard's connections. It may have to rebuild Redis, and some of those statements take longer than a request may wait. */
const GUARD_POOL = { max: 4, timeoutMs: 60_000 };

export async function createFrontendCore(settings: FrontendSettings & { log: Log }): Promise<FrontendCore> {
  let scripts: Scripts | undefined;
  const core = await createCore(settings, {
    worker: false,
    pool: { max: POOL_SIZE, timeoutMs: settings.postgresTimeoutMs ?? POSTGRES_TIMEOUT_MS },
    guardPool: GUARD_POOL,
    acknowledged: () => scripts!.acknowledged,
  });
  return orClose(core, async () => {
    const shared = createShared(core, settings);
    ({ scripts } = shared);
    await core.start();
    return { ...core, ...shared, ids: await KeyedIds.of(core.pool) };
  });
}

function createShared(core: Core, settings: FrontendSettings): Omit<FrontendCore, keyof Core | 'ids'> {
  const { redis, pool, clock, clockSkew, announce, changes, signals, traces, log } = core;
  const { backlogLimit, backlogLimitBytes = Infinity } = settings;
  const metrics = new FrontendMetrics();
  metrics.watchClock(clockSkew);
  watchRedisServers(metrics.registry, core.guard);
  const batchWakeUp = new WakeUp(redis, BATCH_QUEUE);
  core.onClose(() => batchWakeUp.close());
  const backlog = new BacklogWatch({ redis, backlogLimit, backlogLimitBytes });
  core.onClose(() => backlog.stop());
  const overloaded = (): boolean => {
    clockSkew.refuse();
    return backlog.exceeded();
  };
  const tenants = new Tenants({
    pool,
    announce,
    clock,
    onFailed: (error) => log.warn({ err: error }, 'the tenants could not be read; retrying'),
  });
  core.onClose(() => tenants.close());
  changes.listen({ organisationChanged: () => void tenants.organisationChanged() });
  const trail = new AuditTrail(pool, clock, log);
  core.onClose(() => trail.close());
  const users = new UserReads(redis);
  const caughtUp = new CaughtUp({ redis, pool, patience: settings.readPatience });
  return {
    settings: {
      idempotencyKeysPerDay: settings.idempotencyKeysPerDay ?? IDEMPOTENCY_KEYS_PER_DAY,
      webhookAllowPrivate: settings.webhookAllowPrivate ?? false,
      environment: settings.environment ?? ENVIRONMENT,
      publicUrl: settings.publicUrl ?? null,
      secretsKey: settings.secretsKey ?? null,
      pushServers: settings.pushServers ?? {},
      onClaimMoment: settings.onClaimMoment,
      clockPatienceMs: settings.clockPatienceMs,
      postgresDiskBytes: settings.postgresDiskBytes ?? null,
      disk: settings.disk ?? null,
      liveLimits: settings.liveLimits ?? { connections: Infinity, perUser: Infinity },
    },
    metrics,
    historyPool: core.createPool(historyPool(settings.postgresTimeoutMs)),
    tenants,
    controlShare: () => tenants.organisation().controlShare,
    backlog,
    overloaded,
    scripts: new Scripts({
      redis,
      clock,
      onWritten: core.touched,
      overloaded,
      onRedisTime: (redisMs) => clockSkew.heard(redisMs),
      traces,
    }),
    batchQueued: (shard) => {
      batchWakeUp.touched(shard);
      signals.announce('batches', shard);
    },
    deliveriesQueued: () => signals.announce('deliveries', ''),
    recordAudit: trail.record,
    applicationKeys: createApplicationKeys(pool, announce, clock),
    users,
    caughtUp,
    usersWithHistory: new CaughtUpUsers({ redis, caughtUp }),
    past: createKeptRuns(pool),
    persisted: (tenantNo, userId) => untilPersisted({ redis, pool }, tenantNo, userId),
  };
}
