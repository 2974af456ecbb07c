import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { systemClock } from '../src/clock.ts';
import type { BatchProcessorOptions } from '../src/engine/events/batch-processor.ts';
import { KeyedIds } from '../src/engine/ids.ts';
import type { JobRunnerOptions } from '../src/engine/schedule/job-runner.ts';
import type { PublisherOptions } from '../src/engine/notifications/due/publisher.ts';
import type { PersisterOptions } from '../src/engine/persist/persister.ts';
import type { OnPieceFailed } from '../src/engine/schedule/pieces.ts';
import { createCore, orClose, type Core, type CoreSettings } from '../src/processes/core.ts';
import { watchRedisServers } from '../src/processes/process-metrics.ts';
import { endpointsOf } from '../src/redis/endpoints.ts';
import { countFailedWork } from '../src/redis/work-counts.ts';
import { forgetOtherScripts } from '../src/redis/script.ts';
import type { DeliveryOptions } from './delivery.ts';
import type { Rounds } from '../src/rounds.ts';
import type { WorkerMetrics } from './worker-metrics.ts';

/** The settings of a worker, named as in `Env`, and what tests set. */
export interface WorkersOptions extends Omit<CoreSettings, 'clock'> {
  /** How long what is stored is kept in Redis, for a Postgres that comes back older (`HANDED_MS`); not at all without it. */
  keepMs?: number;
  log: Logger;
  /** The machine's own by default. */
  clock?: CoreSettings['clock'];
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
  onStep?: PersisterOptions['onStep'];
  onBatchMoment?: BatchProcessorOptions['onMoment'];
  onPublishStep?: PublisherOptions['onStep'];
  onJobMoment?: JobRunnerOptions['onMoment'];
  /** See `JobRunnerOptions.leaseMs`. */
  jobLeaseMs?: number;
}

/** What the features of a worker share. */
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
  /** Whether the clock of this process may be used for what is written. */
  isClockRight: () => boolean;
  /** The schedule's rounds. They are made last and are woken by what is made before. */
  woken: { schedule?: Rounds };
}

/** Postgres connections of one process: some shards are stored at a time, beside the other work. */
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
    // A server that is away keeps the scripts of other versions until the next start.
    for (const server of endpointsOf(redis)) {
      if (server.redis.status === 'ready') await forgetOtherScripts(server.redis);
    }
    await changes.start();
    if (metrics) watchRedisServers(metrics.registry, guard);
    const failed: WorkerCore['failed'] = (kind, detail, error) => {
      log.error({ kind, ...detail, err: error }, 'scheduled work failed; it is tried again');
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
