import type { Pool } from 'pg';
import { Catalogs, Changes } from '../catalog/catalogs.ts';
import type { Clock } from '../clock.ts';
import type { Core } from '../engine/core.ts';
import { RedisGuards } from '../engine/availability/redis-guards.ts';
import { cursorsMoved } from '../engine/persist/cursor-wait.ts';
import { TestClock } from '../engine/schedule/test-clock.ts';
import { ownVersion } from '../engine/rebuild/marks.ts';
import type { Log } from '../telemetry/log.ts';
import { createPool, type PoolOptions } from '../postgres/pool.ts';
import { OwnVersion } from '../postgres/running-versions.ts';
import { connectRedis, createPatientRedis, someReady } from '../redis/client.ts';
import { ClockSkew } from '../redis/server-info.ts';
import { logOutages } from '../redis/outage.ts';
import { Signals } from '../redis/signals.ts';
import { WakeUp } from '../redis/wake-up.ts';
import type { Traces } from '../telemetry/traces.ts';

/** The settings that frontends and workers share, named as in `Env`. */
export interface CoreSettings {
  redisUrl: string;
  /** Time limit for a replica to acknowledge a write; null if none has to. */
  acknowledgeMs?: number | null;
  databaseUrl: string;
  /** 'test': the clock that the Admin API sets. */
  clock: Clock | 'test';
  traces?: Traces | null;
}

/** Differences between frontends and workers. */
interface CoreRole {
  /** Whether this process does scheduled work. */
  worker: boolean;
  pool: PoolOptions;
  /** Separate connections for the guard. By default it uses `pool`. */
  guardPool?: PoolOptions;
  /** See `RedisGuardOptions.acknowledged`. Called after `start`. */
  acknowledged?: () => ReadonlyMap<number, string>;
}

/** Connects to Postgres and Redis. Rejects with nothing left open; afterwards the caller closes the core. */
export async function createCore(settings: CoreSettings & { log: Log }, role: CoreRole): Promise<Core> {
  const { redisUrl, databaseUrl, acknowledgeMs = null, traces = null, log } = settings;
  const closing = new Closing();
  const poolOf = (options: PoolOptions): Pool => {
    const created = createPool(databaseUrl, options);
    closing.add(() => created.end());
    return created;
  };
  const pool = poolOf(role.pool);
  const redis = await orClose(closing, () => connectRedis(redisUrl));
  closing.add(() => redis.disconnect());
  const logOutagesOf = logOutages(redis, log);
  const guardPool = role.guardPool === undefined ? pool : poolOf(role.guardPool);

  const catalogs = new Catalogs(pool);
  closing.add(() => catalogs.close());
  const signals = new Signals(redis);
  closing.add(() => signals.close());
  signals.listen('stored', (shards) => cursorsMoved(pool, shards?.split(' ').map(Number) ?? []));
  const changes = new Changes({ pool, signals });
  closing.add(() => changes.close());
  const wakeUp = new WakeUp(redis);
  closing.add(() => wakeUp.close());
  const version = new OwnVersion(guardPool, ownVersion());
  closing.add(() => version.close());
  const { acknowledged } = role;
  const testClock = settings.clock === 'test' ? new TestClock({ pool, signals, worker: role.worker }) : null;
  if (testClock !== null) closing.add(() => testClock.close());
  const clock = testClock ?? (settings.clock as Clock);
  const clockSkew = new ClockSkew({ redis, clock, log });
  closing.add(() => clockSkew.close());
  const onRedisTime = (redisMs: number): void => clockSkew.heard(redisMs);
  const guard = new RedisGuards({
    redis,
    pool: guardPool,
    log,
    acknowledgeMs,
    onRedisTime,
    ...(acknowledged && { acknowledged }),
  });
  closing.add(() => guard.close());
  changes.listen(catalogs);
  changes.listen({ organisationChanged: () => void guard.tenantsChanged() });

  return {
    log,
    traces,
    pool,
    redis,
    guard,
    clock,
    testClock,
    clockSkew,
    catalogs,
    changes,
    signals,
    wakeUp,
    touched: (shard) => {
      wakeUp.touched(shard);
      signals.announce('outbox', shard);
    },
    announce: (message) => signals.publish('changes', message),
    wakeJobs: () => signals.publish('jobs', ''),
    createPool: poolOf,
    connectQueues: () => {
      const queueRedis = createPatientRedis(redis);
      logOutagesOf(queueRedis);
      closing.add(() => queueRedis.endFamily());
      return queueRedis;
    },
    onClose: (close) => closing.add(close),
    start: async () => {
      await version.start();
      await someReady(redis);
      await clockSkew.start();
      await guard.start();
      await testClock?.start();
    },
    close: () => closing.close(),
  };
}

/** Runs a part of a start. If it rejects, closes what was opened before. */
export async function orClose<T>(opened: { close(): Promise<void> }, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await opened.close().catch(() => undefined);
    throw error;
  }
}

/** Steps that close resources, newest first. */
class Closing {
  private readonly steps: (() => unknown)[] = [];

  add(step: () => unknown): void {
    this.steps.push(step);
  }

  /** See `Core.close`. A second call runs only steps added since the first. */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (let step = this.steps.pop(); step !== undefined; step = this.steps.pop()) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
