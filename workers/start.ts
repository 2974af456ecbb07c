import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Catalogs } from '../src/catalog/catalogs.ts';
import { Changes } from '../src/catalog/changes.ts';
import { systemClock, type Clock } from '../src/clock.ts';
import { Anniversaries } from '../src/engine/achievements/anniversaries.ts';
import { BackdatingEngine } from '../src/engine/achievements/backdate.ts';
import { clockPass } from '../src/engine/clock/clock-pass.ts';
import { TestClock } from '../src/engine/clock/test-clock.ts';
import { BatchProcessor, type BatchProcessorOptions } from '../src/engine/batches/batch-processor.ts';
import { AuditRetention } from '../src/engine/audit/audit-retention.ts';
import { LateEvents } from '../src/engine/corrections/late-events.ts';
import { KeyedIds } from '../src/engine/ids/keyed-ids.ts';
import { KeyAgeing } from '../src/engine/idempotency/key-ageing.ts';
import { lookUpKeys } from '../src/engine/events/look-up-keys.ts';
import { JobRunner, type JobRunnerOptions } from '../src/engine/jobs/job-runner.ts';
import { BoardsDue } from '../src/engine/leaderboards/boards-due.ts';
import { BoardFilling } from '../src/engine/leaderboards/fill-boards.ts';
import { StraySets } from '../src/engine/leaderboards/stray-sets.ts';
import type { Notification } from '../src/domain/notification.ts';
import { Announcements } from '../src/engine/notifications/due/announcements.ts';
import { BoardRankings } from '../src/engine/notifications/due/board-rankings.ts';
import { AchievementEmails } from '../src/engine/notifications/due/emails/achievement-emails.ts';
import { EmailRounds } from '../src/engine/notifications/due/emails/email-rounds.ts';
import { PersonalBoosts } from '../src/engine/notifications/due/personal-boosts.ts';
import { Places } from '../src/engine/notifications/due/places.ts';
import { Publisher, type PublisherOptions } from '../src/engine/notifications/due/publisher.ts';
import { Windows } from '../src/engine/notifications/due/windows.ts';
import { leftOut } from '../src/engine/notifications/left-out.ts';
import { LiveAudience } from '../src/engine/notifications/live-audience.ts';
import { Reporter } from '../src/engine/notifications/reporter.ts';
import { EventPartitionsAhead } from '../src/engine/partitions/event-partitions-ahead.ts';
import { EventRetention, PartitionDropping } from '../src/engine/partitions/event-retention.ts';
import { Persister, type PersisterOptions } from '../src/engine/persist/persister.ts';
import { sayWhatIsSetAside } from '../src/engine/persist/set-aside.ts';
import { YearCounts } from '../src/engine/achievements/year-counts.ts';
import { TimePayments } from '../src/engine/points/time-payments.ts';
import { TimeTriggers } from '../src/engine/points/time-triggers.ts';
import type { ScheduledWork } from '../src/engine/schedule/due-work.ts';
import type { OnPieceFailed } from '../src/engine/schedule/pieces.ts';
import { ownVersion } from '../src/engine/rebuild/marks.ts';
import { RedisGuards } from '../src/engine/availability/redis-guards.ts';
import { watchRedisServers } from '../src/processes/redis-server-metrics.ts';
import { Schedule } from '../src/engine/schedule/schedule.ts';
import { Recomputing } from '../src/engine/recomputations/recomputing.ts';
import { StreakSweep } from '../src/engine/streaks/streak-sweep.ts';
import { Resends } from '../src/engine/webhooks/resends.ts';
import { SecretErasure } from '../src/engine/webhooks/secret-erasure.ts';
import { settled } from '../src/engine/schedule/settled.ts';
import { exclusively } from '../src/postgres/exclusively.ts';
import { MessageLog } from '../src/engine/webhooks/message-log.ts';
import { AUDIT_RETENTION_DAYS, IDEMPOTENCY_KEYS_PER_DAY, WEBHOOK_LOG_DAYS } from '../src/env.ts';
import { createPool } from '../src/postgres/pool.ts';
import { OwnVersion } from '../src/postgres/running-versions.ts';
import { connectRedis } from '../src/engine/shards/connect-redis.ts';
import { createPatientRedis, someReady } from '../src/redis/client.ts';
import { ClockSkew } from '../src/redis/clock-skew.ts';
import { endpointsOf } from '../src/redis/endpoints.ts';
import { logOutages } from '../src/redis/log-outages.ts';
import { firstUrl } from '../src/redis-entries.ts';
import { countFailedWork } from '../src/redis/failed-work.ts';
import { SHARD_NUMBERS } from '../src/redis/keys.ts';
import { shardsWithEntries } from '../src/redis/outbox.ts';
import { announceLive, listenedTenants } from '../src/redis/live-streams.ts';
import { forgetOtherScripts } from '../src/redis/script.ts';
import { WakeUp } from '../src/redis/wake-up.ts';
import type { Traces } from '../src/traces/traces.ts';
import { startDelivery, type DeliveryOptions } from './delivery.ts';
import { batchWorker } from './jobs/batch.ts';
import { persistWorker } from './jobs/persist.ts';
import { jobWorker } from './jobs/run-jobs.ts';
import { scheduleWorker } from './jobs/schedule.ts';
import type { Rounds } from './rounds.ts';
import { watchOutbox } from './watch.ts';
import type { WorkerMetrics } from './worker-metrics.ts';

export interface WorkersOptions {
  redisUrl: string;
  /** How long a replica may take to have what was written; null: none has to. */
  acknowledgeMs?: number | null;
  /** How long what is stored is kept in Redis, for a Postgres that comes back older (`HANDED_MS`); not at all without it. */
  keepMs?: number;
  /** A database that is migrated. */
  databaseUrl: string;
  log: Logger;
  /** 'test': the one that the admin API sets. The machine's own by default. */
  clock?: Clock | 'test';
  /** Days after which idempotency keys leave the hot set. */
  idempotencyHotDays?: number;
  /** Idempotency keys that a user may use on a UTC day; 0: any number. */
  idempotencyKeysPerDay?: number;
  /** Days that the audit log is kept. */
  auditRetentionDays?: number;
  /** Outbox entries that may wait before events are refused: a sweep leaves most of them to events. */
  backlogLimit?: number;
  /** Days that messages to webhooks are kept. */
  webhookLogDays?: number;
  /** Days that events and awards are kept one by one; for ever without it. */
  eventRetentionDays?: number | null;
  /** Of what is sent to webhooks. */
  delivery?: DeliveryOptions;
  /** Observes what is done; without it nobody does. */
  metrics?: WorkerMetrics;
  /** Makes spans of the work; without it none are made. It stays the caller's to close. */
  traces?: Traces | null;
  onStep?: PersisterOptions['onStep'];
  onBatchMoment?: BatchProcessorOptions['onMoment'];
  onPublishStep?: PublisherOptions['onStep'];
  onJobMoment?: JobRunnerOptions['onMoment'];
  /** See `JobRunnerOptions.leaseMs`. */
  jobLeaseMs?: number;
}

export interface Workers {
  /**
   * Takes no more jobs, stores what the outbox holds, closes all connections. After `timeoutMs` it gives up
   * storing: the outbox keeps what is left. Tries of deliveries under way have some seconds more. Safe to call twice.
   */
  close(timeoutMs?: number): Promise<void>;
}

/** Postgres connections of one process: some shards are stored at a time, beside the other work. */
const POOL_SIZE = 12;

/** Days after which a used idempotency key is kept in the compact form. Retries come within minutes, those of a device that was off within days. */
const IDEMPOTENCY_HOT_DAYS = 7;

/** How much of the backlog that is allowed a sweep may fill. */
const SWEEP_AHEAD = 0.4;

/** How soon after rows were persisted it is looked whether they made something due: under load, once in this time. */
const STORED_WITHIN_MS = 1_000;

/**
 * How soon it is looked at what nobody spoke of when something was written to Postgres, which is noticed within 5 s: so within
 * 10 s of the write, and while much is written as seldom as that.
 */
const WRITTEN_WITHIN_MS = 5_000;

/** By then a pass of the schedule asks again who listens to live streams. */
const LISTENED_WITHIN_MS = 500;

/** Held by the worker process that does what falls due. */
const SCHEDULE_LOCK = 0x6c61_7573; // 'laus'

/** Starts all background work of one process, with connections of its own. Rejects if no Redis answers, or one is another Laurel's. */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const { redisUrl, acknowledgeMs = null, keepMs = 0, databaseUrl, log, metrics, traces = null } = options;
  const { onStep, onBatchMoment, onPublishStep } = options;
  const given = options.clock ?? systemClock;
  const pool = createPool(databaseUrl, { max: POOL_SIZE });
  const redis = await connectRedis(redisUrl, pool).catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });
  const queueRedis = createPatientRedis(firstUrl(redisUrl));
  logOutages(redis, log, [queueRedis]);
  const ownVersionRuns = new OwnVersion(pool, ownVersion());
  const guard = new RedisGuards({ redis, pool, log, acknowledgeMs });
  const catalogs = new Catalogs({ pool });
  const testClock = given === 'test' ? new TestClock({ pool, redis, worker: true }) : null;
  const clock = testClock ?? (given as Clock);
  const clockSkew = new ClockSkew({ redis, clock, log });
  metrics?.watchClock(clockSkew);
  const changes = new Changes({ pool, redis });
  const wakeUp = new WakeUp(redis);
  const disconnect = async (): Promise<void> => {
    clockSkew.close();
    await guard.close();
    await ownVersionRuns.close();
    await testClock?.close();
    changes.close();
    catalogs.close();
    await wakeUp.close();
    redis.disconnect();
    queueRedis.endFamily();
    await pool.end();
  };
  let ids: KeyedIds;
  try {
    await ownVersionRuns.start();
    await someReady(redis);
    await clockSkew.start();
    await guard.start();
    ids = await KeyedIds.of(pool);
    // One that is away keeps those of other versions until the next start.
    for (const server of endpointsOf(redis)) {
      if (server.redis.status === 'ready') await forgetOtherScripts(server.redis);
    }
    changes.listen(catalogs);
    changes.listen({ organisationChanged: () => void guard.tenantsChanged() });
    await changes.start();
    await testClock?.start();
  } catch (error) {
    await disconnect();
    throw error;
  }

  const delivery = startDelivery({ redis, databaseUrl, clock, catalogs, changes, traces, log }, options.delivery ?? {});
  testClock?.onChange(delivery.look);

  const ending = new AbortController();
  // One for each shard that is being stored.
  setMaxListeners(0, ending.signal);
  const failed = (kind: string, detail: object, error: unknown): void => {
    log.error({ kind, ...detail, err: error }, 'scheduled work failed; it is tried again');
    countFailedWork(redis, kind).catch(() => undefined);
  };
  const onFailed: OnPieceFailed = ({ kind, piece, error }) => failed(kind, piece.detail, error);
  // Made last: it is woken by what is made before.
  const woken: { due?: Rounds } = {};
  const persister = new Persister({
    redis,
    pool,
    gate: guard,
    keepMs,
    reporter: new Reporter({
      pool,
      catalogs,
      clock,
      live: new LiveAudience(() => listenedTenants(redis)),
      onLeftOut: leftOut({ redis, log }),
    }),
    onReported: delivery.queued,
    onSetAside: (entry) => sayWhatIsSetAside(log, entry),
    // Users in a zone that was not known, or who are paid for time.
    onStored: () => woken.due?.wake(STORED_WITHIN_MS),
    ...(metrics && { onTransaction: metrics.stored }),
    traces,
    ...(onStep && { onStep }),
  });
  const worker = persistWorker({ redis: queueRedis, persister, log, ending: ending.signal });
  // What these do has the time of this process.
  const isClockRight = (): boolean => !clockSkew.isRefused;
  // Under the test clock a caller waits for what was switched on.
  const settle = testClock === null ? {} : { settleMs: 500 };
  const onWritten = (shard: number): void => void persister.drain(shard, ending.signal).catch(() => undefined);
  const users = { redis, pool, clock, onWritten, onFailed };
  const jobs = jobWorker({
    runner: new JobRunner({
      pool,
      onFailed,
      onMoment: options.onJobMoment,
      ...(options.jobLeaseMs !== undefined && { leaseMs: options.jobLeaseMs }),
      works: [
        new BackdatingEngine({ ...users, ...settle }),
        new BoardFilling({
          ...users,
          onFilled: () => woken.due?.wake(),
          ...settle,
        }),
        new Recomputing(users),
        new Resends({ pool, clock, onQueued: delivery.queued }),
        new PartitionDropping({ pool, onDropped: () => woken.due?.wake() }),
      ],
    }),
    mayStep: isClockRight,
    log,
    ending: ending.signal,
    ...(testClock !== null && { everyMs: 200 }),
  });
  const batches = batchWorker({
    redis,
    queueRedis,
    processor: new BatchProcessor({
      redis,
      catalogs,
      ids,
      lookUpKeys: (tenantNo, questions) => lookUpKeys({ redis, pool }, tenantNo, questions),
      late: new LateEvents({ redis, pool, clock, log }),
      keysPerDay: options.idempotencyKeysPerDay ?? IDEMPOTENCY_KEYS_PER_DAY,
      onWritten: (shard) => wakeUp.touched(shard),
      onRefused: ({ id, tenantNo }, events) =>
        log.info({ batch: id, tenantNo, events }, 'some events of a batch were refused'),
      traces,
      ...(onBatchMoment && { onMoment: onBatchMoment }),
    }),
    log,
    ending: ending.signal,
  });
  const stopWatching = watchOutbox({ redis, persister, log, ending: ending.signal });

  const payments = new TimePayments({
    redis,
    catalogs,
    onWritten: (shard) => wakeUp.touched(shard),
  });
  const counts = new YearCounts({
    redis,
    catalogs,
    onWritten: (shard) => wakeUp.touched(shard),
  });
  const observed = onPublishStep && { onStep: onPublishStep };
  const publisher = new Publisher({ pool, catalogs, onMade: () => delivery.queued(), ...observed });
  // Live streams take what comes of records from those; what the clock makes is announced to them.
  const announced = (made: readonly Notification[]): void => {
    delivery.queued();
    void announceLive(redis, made);
  };
  const announcing = new Publisher({
    pool,
    catalogs,
    onMade: announced,
    live: { tenants: () => listenedTenants(redis), clock },
    ...observed,
  });
  const rankings = new BoardRankings(redis);
  // What falls due by the clock; a kind a line. At the same time the first of the list goes first.
  const kinds: ScheduledWork[] = [
    new StreakSweep({
      redis,
      pool,
      catalogs,
      onFailed,
      ...(options.backlogLimit !== undefined && { maxAhead: Math.floor(SWEEP_AHEAD * options.backlogLimit) }),
      onWritten: (shard) => wakeUp.touched(shard),
    }),
    new TimeTriggers({ pool, payments, onFailed }),
    new Anniversaries({ pool, counts, onFailed }),
    new BoardsDue({ redis, pool, onFailed, ...(testClock !== null && { graceMs: 0 }) }),
    new StraySets({ redis, pool, onFailed }),
    // Places before windows: a rank that waits in one that ends now is the one of now.
    new Places({ publisher, redis, onFailed }),
    new Windows({ publisher, rankings, onFailed }),
    new Announcements({ publisher: announcing, redis, rankings, onFailed }),
    new PersonalBoosts({ publisher: announcing, onFailed }),
    new EmailRounds({ publisher: announcing, onFailed }),
    new AchievementEmails({ publisher: announcing, onFailed }),
    new KeyAgeing({ redis, pool, onFailed, hotDays: options.idempotencyHotDays ?? IDEMPOTENCY_HOT_DAYS }),
    new SecretErasure({ pool }),
    new EventPartitionsAhead({ pool }),
    new EventRetention({ pool, days: options.eventRetentionDays ?? null, onAdded: () => jobs.wake() }),
    new AuditRetention({ pool, days: options.auditRetentionDays ?? AUDIT_RETENTION_DAYS }),
    new MessageLog({ pool, days: options.webhookLogDays ?? WEBHOOK_LOG_DAYS }),
  ];
  const schedule = new Schedule({
    kinds,
    clock,
    settled: (signal) => settled({ redis, pool, persister }, signal),
    onTrouble: (kind, error) => failed(kind, {}, error),
    traces,
  });
  metrics?.watchSchedule(schedule);
  if (metrics) watchRedisServers(metrics.registry, guard);
  const due = scheduleWorker({
    // What is due is read from Redis as well, so from one that is whole.
    pass: async () => {
      if (!guard.isWhole || !isClockRight()) return null;
      const outcome = await exclusively(pool, SCHEDULE_LOCK, (lost) => {
        const signal = AbortSignal.any([ending.signal, lost, guard.closes]);
        return testClock === null ? schedule.pass(signal) : clockPass({ pool, clock: testClock, schedule }, signal);
      });
      if (outcome === null) schedule.forget();
      return outcome;
    },
    untilNextMs: (withinMs) => schedule.untilNextMs(withinMs),
    log,
    ending: ending.signal,
  });
  woken.due = due;
  const wakeAll = (): void => {
    for (const each of [jobs, due]) each.wake();
  };
  changes.listen({
    catalogChanged: wakeAll,
    anyCatalogChanged: wakeAll,
    organisationChanged: wakeAll,
    jobAdded: () => jobs.wake(),
    listenedTo: () => due.wake(LISTENED_WITHIN_MS),
    written: () => {
      for (const each of [jobs, due]) each.wake(WRITTEN_WITHIN_MS);
      delivery.lookWithin(WRITTEN_WITHIN_MS);
    },
  });
  testClock?.onChange(() => due.wake());
  guard.listen(() => guard.isWhole && wakeAll());

  // What one step of ending cannot do keeps none of the following back: each closes connections of its own.
  const all = async (closings: Promise<unknown>[]): Promise<void> => {
    for (const closed of await Promise.allSettled(closings)) {
      if (closed.status === 'rejected')
        log.warn({ err: closed.reason as unknown }, 'a part of the worker did not end well');
    }
  };
  const finish = async (): Promise<void> => {
    await all([due.close()]);
    // What the last steps of batches write is stored as well.
    await all([batches.close(), jobs.close()]);
    await all([worker.close(), stopWatching(), delivery.close()]);
    for (const shard of await shardsWithEntries(redis, SHARD_NUMBERS)) await persister.drain(shard, ending.signal);
  };
  const close = async (timeoutMs: number): Promise<void> => {
    ending.abort();
    const inTime = new AbortController();
    const tooLate = sleep(timeoutMs, undefined, { signal: inTime.signal }).then(
      () => log.warn('the outbox was not emptied in time; it keeps what is left'),
      () => undefined,
    );
    const finished = finish().catch((error: unknown) => log.warn({ err: error }, 'the outbox keeps what is left'));
    await Promise.race([finished, tooLate]);
    inTime.abort();
    await disconnect();
    // Where it was too late: without connections the rest fails at once, but closes what is its own.
    await finished;
  };
  let closing: Promise<void> | undefined;
  return { close: (timeoutMs = 10_000) => (closing ??= close(timeoutMs)) };
}
