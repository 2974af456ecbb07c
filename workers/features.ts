import type { Notification } from '../src/domain/notifications/notification.ts';
import { createAchievementEmails } from '../src/engine/notifications/due/achievement-emails.ts';
import { createEmailRounds } from '../src/engine/notifications/due/email-rounds.ts';
import { createAnniversaries, createYearCounts } from '../src/engine/achievements/anniversaries.ts';
import { createBackdatingEngine, type BackdatingOptions } from '../src/engine/backfills/backdating.ts';
import { createAuditRetention } from '../src/engine/retention/audit-retention.ts';
import { createBatchProcessor } from '../src/engine/events/batch-processor.ts';
import { clockPass } from '../src/engine/schedule/clock-control.ts';
import { createLateEvents } from '../src/engine/corrections/late-events.ts';
import { lookUpKeys } from '../src/engine/events/stored-replies.ts';
import { createKeyAgeing } from '../src/engine/retention/key-ageing.ts';
import { JobRunner } from '../src/engine/schedule/job-runner.ts';
import { BoardsDue } from '../src/engine/leaderboards/boards-due.ts';
import { createBoardFilling } from '../src/engine/backfills/board-filling.ts';
import { createLeagueClosing } from '../src/engine/leaderboards/league-closing.ts';
import { createLeagueReports } from '../src/engine/leaderboards/league-reports.ts';
import { StraySets } from '../src/engine/leaderboards/stray-sets.ts';
import { createAnnouncements } from '../src/engine/notifications/due/announcements.ts';
import { createBoardRankings } from '../src/engine/notifications/due/board-rankings.ts';
import { createPersonalBoosts } from '../src/engine/notifications/due/personal-boosts.ts';
import { createPlaces } from '../src/engine/notifications/due/places.ts';
import { Publisher } from '../src/engine/notifications/due/publisher.ts';
import { createWindows } from '../src/engine/notifications/due/windows.ts';
import { leftOut } from '../src/engine/notifications/left-out.ts';
import { createLiveAudience } from '../src/engine/notifications/listeners.ts';
import { Reporter } from '../src/engine/notifications/reporter.ts';
import { createEventPartitionsAhead } from '../src/engine/retention/event-partitions.ts';
import { createEventRetention, createPartitionDropping } from '../src/engine/retention/event-retention.ts';
import { Persister } from '../src/engine/persist/persister.ts';
import { logSetAside } from '../src/engine/persist/refused-entries.ts';
import { createOpenClaims } from '../src/engine/rewards/open-claims.ts';
import { createClaims, type Claims } from '../src/engine/rewards/claims.ts';
import { createSpendings } from '../src/engine/points/spendings.ts';
import { untilPersisted } from '../src/engine/persist/cursor-wait.ts';
import { createExpiries } from '../src/engine/points/expiries.ts';
import { createTimePayments } from '../src/engine/points/time-payments.ts';
import { TimeTriggers } from '../src/engine/points/time-triggers.ts';
import { Verifying } from '../src/engine/rebuild/verification-job.ts';
import { createRecomputing } from '../src/engine/recomputations/recomputation-job.ts';
import { Scripts } from '../src/engine/scripts.ts';
import type { ScheduledWork } from '../src/engine/schedule/due-work.ts';
import { type PassOutcome, Schedule } from '../src/engine/schedule/schedule.ts';
import { settled } from '../src/engine/schedule/settled.ts';
import { StreakSweep } from '../src/engine/streaks/streak-sweep.ts';
import { createMessageLog, createSecretErasure } from '../src/engine/webhooks/message-log.ts';
import { createMessageRetention } from '../src/engine/messages/message-log.ts';
import { createResends } from '../src/engine/webhooks/webhook-deliveries.ts';
import {
  AUDIT_RETENTION_DAYS,
  IDEMPOTENCY_KEYS_PER_DAY,
  MESSAGE_LOG_DAYS,
  WEBHOOK_LOG_DAYS,
} from '../src/settings/env.ts';
import { exclusively } from '../src/postgres/transaction.ts';
import { createConverting } from '../src/engine/rebuild/conversion.ts';
import { createMergeEnding } from '../src/engine/users/merge-ending.ts';
import { rowRemoval } from '../src/engine/users/row-removal.ts';
import { announceLive, listenedTenants } from '../src/redis/live-streams.ts';
import type { Rounds } from '../src/pacing/rounds.ts';
import type { Delivery } from './delivery.ts';
import { batchWorker } from './jobs/batch.ts';
import { persistWorker } from './jobs/persist.ts';
import { jobWorker } from './jobs/run-jobs.ts';
import { scheduleWorker } from './jobs/schedule.ts';
import { watchOutbox } from './watch.ts';
import type { WorkerCore, WorkersOptions } from './worker-core.ts';

/** Share of the allowed backlog that a sweep may fill. */
const SWEEP_AHEAD = 0.4;

/** Delay before the schedule checks whether stored rows made something due. Under load, it checks once per delay. */
const STORED_WITHIN_MS = 1_000;

/** Days after which a used idempotency key moves to the compact form. Most retries come within minutes, some after days offline. */
const IDEMPOTENCY_HOT_DAYS = 7;

/** Maximum time between checks by the schedule and the jobs. `Changes` reports writes to Postgres earlier. */
export const BACKSTOP_MS = 60_000;

/** Held by the one worker process that does scheduled work. */
const SCHEDULE_LOCK = 0x6c61_7573; // 'laus'

interface With {
  delivery: Delivery;
  persister: Persister;
  jobs: Rounds;
  options: WorkersOptions;
}

export function createPersisting(
  core: WorkerCore,
  { delivery, options }: Pick<With, 'delivery' | 'options'>,
): { persister: Persister; close(): Promise<unknown> } {
  const { redis, pool, guard, catalogs, clock, signals, log, traces, ending } = core;
  const { metrics, onStep, keepMs = 0 } = options;
  const persister = new Persister({
    redis,
    pool,
    gate: guard,
    keepMs,
    reporter: new Reporter({
      redis,
      pool,
      catalogs,
      clock,
      live: createLiveAudience(redis),
      onLeftOut: leftOut(redis, log),
    }),
    onReported: delivery.queued,
    onMerged: () => core.woken.jobs?.wake(),
    onSetAside: (entry) => logSetAside(log, entry),
    onStored: (shard) => {
      signals.announce('stored', shard);
      // Some stored users may be in a new zone, or be paid by time triggers.
      core.woken.schedule?.wake(STORED_WITHIN_MS);
    },
    ...(metrics && { onTransaction: metrics.stored }),
    traces,
    ...(onStep && { onStep }),
  });
  const worker = persistWorker({ redis: core.queueRedis, persister, log, ending });
  const watch = watchOutbox({ redis, signals, persister, log, ending });
  return { persister, close: () => Promise.all([worker.close(), watch.close()]) };
}

/** Long operations that administrators request. */
export function createJobs(
  core: WorkerCore,
  { delivery, persister, options }: Pick<With, 'delivery' | 'persister' | 'options'>,
): Rounds {
  const { redis, pool, clock, testClock, log, ending, onFailed } = core;
  const { onJobMoment: onMoment, jobLeaseMs: leaseMs, runs } = options;
  // With the test clock, a caller waits for activated resources.
  const soon: Pick<BackdatingOptions, 'minAgeMs'> = testClock === null ? {} : { minAgeMs: 500 };
  const onWritten = (shard: number): void => {
    core.signals.announce('outbox', shard);
    void persister.drain(shard, ending).catch(() => undefined);
  };
  const users = { redis, pool, clock, onWritten, onFailed };
  const wakeSchedule = (): void => core.woken.schedule?.wake();
  const rounds = jobWorker({
    runner: new JobRunner({
      pool,
      onFailed,
      onMoment,
      runs,
      ...(leaseMs !== undefined && { leaseMs }),
      works: [
        createBackdatingEngine({ ...users, ...soon }),
        createBoardFilling({ ...users, onFilled: wakeSchedule, ...soon }),
        createRecomputing(users),
        createResends(pool, clock, delivery.queued),
        new Verifying(redis, pool, clock),
        createPartitionDropping(pool, wakeSchedule),
        createMergeEnding({ redis, pool, clock, onWritten, onMergeStep: options.onMergeStep }),
        rowRemoval(redis),
        createConverting({ redis, pool, onUnreadable: () => undefined, announce: () => core.announce('*') }),
      ],
    }),
    mayStep: core.isClockRight,
    log,
    ending,
    ...(testClock !== null && { everyMs: 200 }),
  });
  core.woken.jobs = rounds;
  return rounds;
}

export function createBatches(core: WorkerCore, options: WorkersOptions): { close(): Promise<void> } {
  const { redis, pool, catalogs, ids, clock, signals, log, traces, ending, queueRedis } = core;
  const { onBatchMoment, idempotencyKeysPerDay = IDEMPOTENCY_KEYS_PER_DAY } = options;
  const processor = createBatchProcessor({
    redis,
    catalogs,
    ids,
    lookUpKeys: (tenantNo, questions) => lookUpKeys({ redis, pool }, tenantNo, questions),
    late: createLateEvents(redis, pool, clock, log),
    idempotencyKeysPerDay,
    onWritten: core.touched,
    onRefused: ({ id, tenantNo }, events) =>
      log.info({ batch: id, tenantNo, events }, 'some events of a batch were refused'),
    traces,
    ...(onBatchMoment && { onMoment: onBatchMoment }),
  });
  return batchWorker({ redis, signals, queueRedis, processor, log, ending });
}

export function createSchedule(core: WorkerCore, { delivery, persister, jobs, options }: With): Rounds {
  const { redis, pool, guard, clock, testClock, log, traces, ending, isClockRight } = core;
  const schedule = new Schedule({
    kinds: [
      ...scheduledRewards(core, options),
      ...scheduledNotifications(core, { delivery, options }),
      ...scheduledUpkeep(core, { jobs, options }),
    ],
    clock,
    settled: (signal) => settled(redis, pool, persister, signal),
    onTrouble: (kind, error) => core.failed(kind, {}, error),
    traces,
  });
  options.metrics?.watchSchedule(schedule);
  const pass = async (): Promise<PassOutcome | null> => {
    // The work also reads Redis, which must therefore be complete.
    if (!guard.isWhole || !isClockRight()) return null;
    const outcome = await exclusively(pool, SCHEDULE_LOCK, (lost) => {
      const signal = AbortSignal.any([ending, lost, guard.closes]);
      return testClock === null ? schedule.pass(signal) : clockPass(pool, testClock, schedule, signal);
    });
    if (outcome === null) schedule.forget();
    return outcome;
  };
  const untilNextMs = async (withinMs: number): Promise<number | null> =>
    testClock?.stands === true ? null : schedule.untilNextMs(withinMs);
  const rounds = scheduleWorker({ pass, untilNextMs, log, ending, backstopMs: BACKSTOP_MS });
  core.woken.schedule = rounds;
  return rounds;
}

// Scheduled work, one kind per line. If several are due at the same time, they run in this order.

function scheduledRewards(core: WorkerCore, { backlogLimit }: WorkersOptions): ScheduledWork[] {
  const { redis, pool, catalogs, testClock, onFailed, touched: onWritten } = core;
  const maxAhead = backlogLimit === undefined ? {} : { maxAhead: Math.floor(SWEEP_AHEAD * backlogLimit) };
  const payments = createTimePayments({ redis, catalogs, onWritten });
  const counts = createYearCounts({ redis, catalogs, onWritten });
  return [
    new StreakSweep({ redis, pool, catalogs, onFailed, ...maxAhead, onWritten }),
    new TimeTriggers({ pool, payments, onFailed }),
    createAnniversaries(pool, counts, onFailed),
    new BoardsDue({ redis, pool, catalogs, onWritten, onFailed, ...(testClock !== null && { graceMs: 0 }) }),
    new StraySets({ redis, pool, onFailed }),
  ];
}

function scheduledNotifications(
  core: WorkerCore,
  { delivery, options }: Pick<With, 'delivery' | 'options'>,
): ScheduledWork[] {
  const { redis, pool, catalogs, clock, onFailed, touched: onWritten } = core;
  const observed = options.onPublishStep && { onStep: options.onPublishStep };
  const publisher = new Publisher({ redis, pool, catalogs, onMade: () => delivery.queued(), onFailed, ...observed });
  // Live streams get notifications from records themselves; the clock's notifications must be announced to them.
  const announced = (made: readonly Notification[]): void => {
    delivery.queued();
    void announceLive(redis, made);
  };
  const announcing = new Publisher({
    redis,
    pool,
    catalogs,
    onMade: announced,
    onFailed,
    live: { tenants: () => listenedTenants(redis), clock },
    ...observed,
  });
  const rankings = createBoardRankings(redis);
  const scripts = new Scripts({ redis, clock, onWritten });
  return [
    // Places before windows: a window that ends now reports the current rank.
    createPlaces(publisher, redis, onFailed),
    createWindows(publisher, rankings, onFailed),
    createAnnouncements({ publisher: announcing, redis, rankings, onFailed }),
    createPersonalBoosts(announcing, onFailed),
    createEmailRounds({ publisher: announcing, onFailed }),
    createAchievementEmails(announcing, onFailed),
    createExpiries({ redis, scripts, clock, publisher: announcing, onFailed }),
    createLeagueClosing({ publisher: announcing, onFailed }),
    createLeagueReports(redis, announcing, onFailed),
    createOpenClaims(redis, workerClaims(core, scripts, options), announcing, onFailed),
  ];
}

function workerClaims(
  core: WorkerCore,
  scripts: Scripts,
  { idempotencyKeysPerDay = IDEMPOTENCY_KEYS_PER_DAY }: WorkersOptions,
): Claims {
  const { redis, pool, clock, ids } = core;
  // What a worker does for nobody in particular is not audited.
  const recordAudit = (): Promise<void> => Promise.resolve();
  const persisted = (tenantNo: number, userId: string): Promise<void> =>
    untilPersisted({ redis, pool }, tenantNo, userId, 0);
  const of = { redis, pool, clock, ids, recordAudit, persisted };
  return createClaims({ ...of, spendings: createSpendings({ ...of, scripts, idempotencyKeysPerDay }) });
}

function scheduledUpkeep(core: WorkerCore, { jobs, options }: Pick<With, 'jobs' | 'options'>): ScheduledWork[] {
  const { redis, pool, onFailed } = core;
  const { idempotencyHotDays = IDEMPOTENCY_HOT_DAYS, eventRetentionDays = null } = options;
  const { auditRetentionDays = AUDIT_RETENTION_DAYS } = options;
  const { webhookLogDays = WEBHOOK_LOG_DAYS, messageLogDays = MESSAGE_LOG_DAYS } = options;
  return [
    createKeyAgeing({ redis, pool, onFailed, hotDays: idempotencyHotDays }),
    createSecretErasure(pool),
    createEventPartitionsAhead(pool),
    createEventRetention(pool, eventRetentionDays, () => jobs.wake()),
    createAuditRetention(pool, auditRetentionDays),
    createMessageLog(pool, webhookLogDays),
    createMessageRetention(pool, messageLogDays),
  ];
}
