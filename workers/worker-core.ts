import type { MergeStep } from '../src/engine/users/merge-changes.ts';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { systemClock } from '../src/clock.ts';
import type { BatchProcessorOptions } from '../src/engine/events/batch-processor.ts';
import { KeyedIds } from '../src/engine/ids.ts';
import type { JobRunnerOptions } from '../src/engine/schedule/job-runner.ts';
import type { PublisherOptions } from '../src/engine/notifications/due/publisher.ts';
import type { PersisterOptions } from '../src/engine/persist/persister.ts';
import type { OnPieceFailed } from '../src/engine/schedule/pieces.ts';
import type { Core } from '../src/engine/core.ts';
import { createCore, orClose, type CoreSettings } from '../src/processes/core.ts';
import { watchRedisServers } from '../src/processes/process-metrics.ts';
import { endpointsOf } from '../src/redis/endpoints.ts';
import { TenantConverting } from '../src/redis/parts.ts';
import { countFailedWork } from '../src/redis/work-counts.ts';
import { forgetOtherScripts } from '../src/redis/script.ts';
import type { DeliveryOptions } from './delivery.ts';
import type { PushSenderOptions } from '../src/engine/messages/push/push-senders.ts';
import type { MessageSendingOptions } from './messages.ts';
import type { Rounds } from '../src/pacing/rounds.ts';
import type { WorkerMetrics } from './worker-metrics.ts';

/** The settings of a worker, named as in `Env`, and hooks for tests. */
export interface WorkersOptions extends Omit<CoreSettings, 'clock'> {
  /** How long stored entries are kept in Redis in case an older copy of Postgres returns (`HANDED_MS`); absent to keep none. */
  keepMs?: number;
  log: Logger;
  /** The machine's clock by default. */
  clock?: CoreSettings['clock'];
  idempotencyHotDays?: number;
  /** Maximum idempotency keys per user and UTC day; 0 for no limit. */
  idempotencyKeysPerDay?: number;
  auditRetentionDays?: number;
  backlogLimit?: number;
  webhookLogDays?: number;
  messageLogDays?: number;
  /** The application port as users reach it; without it, no e-mails are sent. */
  publicUrl?: string | null;
  /** Decrypts the passwords of channels. */
  secretsKey?: Buffer | null;
  /** Days for which individual events and awards are kept; forever if absent. */
  eventRetentionDays?: number | null;
  delivery?: DeliveryOptions;
  emails?: MessageSendingOptions;
  /** Other addresses of push providers, for tests. */
  pushServers?: PushSenderOptions['baseUrls'];
  /** Observes the work, if present. */
  metrics?: WorkerMetrics;
  onStep?: PersisterOptions['onStep'];
  onBatchMoment?: BatchProcessorOptions['onMoment'];
  onPublishStep?: PublisherOptions['onStep'];
  onJobMoment?: JobRunnerOptions['onMoment'];
  onMergeStep?: (step: MergeStep) => void | Promise<void>;
  /** See `JobRunnerOptions.leaseMs`. */
  jobLeaseMs?: number;
  /** This process and its predecessors that have exited, whose jobs it takes over. */
  runs?: { run: string; ended: readonly string[] } | undefined;
}

export interface WorkerCore extends Core {
  log: Logger;
  /** For BullMQ's workers. */
  queueRedis: Redis;
  ids: KeyedIds;
  /** Aborted when the process ends. */
  ending: AbortSignal;
  /** Logs and counts a failure of scheduled work. */
  failed: (kind: string, detail: object, error: unknown) => void;
  /** The same for one piece of the work. */
  onFailed: OnPieceFailed;
  /** Whether this process's clock is right enough for what it writes. */
  isClockRight: () => boolean;
  /** The rounds of jobs and of the schedule, which are created last and woken by features created earlier. */
  woken: { jobs?: Rounds; schedule?: Rounds };
}

/** Postgres connections of one process: some shards are stored at a time, besides other work. */
const POOL_SIZE = 12;

/** Connects a worker and starts its core. Rejects with nothing left open. */
export async function createWorkerCore(options: WorkersOptions, ending: AbortSignal): Promise<WorkerCore> {
  const { log, metrics, clock = systemClock } = options;
  const core = await createCore({ ...options, clock }, { worker: true, pool: { max: POOL_SIZE } });
  return orClose(core, async () => {
    const { redis, pool, clockSkew, guard, changes } = core;
    const queueRedis = core.connectQueues();
    metrics?.watchClock(clockSkew);
    await core.start();
    const ids = await KeyedIds.of(pool);
    // An unreachable server keeps the scripts of other versions until the next start.
    for (const server of endpointsOf(redis)) {
      if (server.redis.status === 'ready') await forgetOtherScripts(server.redis);
    }
    await changes.start();
    if (metrics) watchRedisServers(metrics.registry, guard);
    const failed: WorkerCore['failed'] = (kind, detail, error) => {
      // Work about a tenant waits until its conversion ends.
      if (error instanceof TenantConverting) return;
      log.error({ kind, ...detail, err: error }, 'scheduled work failed; it will be retried');
      countFailedWork(redis, kind).catch(() => undefined);
    };
    return {
      ...core,
      log,
      ids,
      queueRedis,
      ending,
      failed,
      onFailed: ({ kind, piece, error }) => failed(kind, piece.detail, error),
      isClockRight: () => !clockSkew.isRefused,
      woken: {},
    };
  });
}
