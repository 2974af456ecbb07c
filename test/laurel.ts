import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { DiskSpace } from '../src/domain/administration/disk.ts';
import { systemClock, type FixedClock } from '../src/clock.ts';
import { connectRedis, redisReady } from '../src/redis/client.ts';
import { endpointsOf } from '../src/redis/endpoints.ts';
import { openLaurel, type Laurel } from '../src/processes/composition.ts';
import type { LiveLimits } from '../src/engine/live/streams.ts';
import type { Configuration } from '../src/domain/configuration.ts';
import { parseNetworks } from '../src/domain/networks.ts';
import { createLog } from '../src/telemetry/log.ts';
import { adminOperations, applicationOperations } from '../src/operations/index.ts';
import { existing } from '../src/operations/operation.ts';
import type { Services } from '../src/engine/services.ts';
import { createAdminKeys } from '../src/postgres/access/admin-keys.ts';
import type { RateLimits } from '../src/http/access/rate-limit.ts';
import { serve, type Served } from '../src/processes/serve.ts';
import { startWorkers, type WorkersOptions } from '../workers/start.ts';
import { TestClient } from './http/client.ts';
import { isClusterRun } from './stack/own-cluster.ts';
import { prepared } from './stack/fresh-database.ts';
import { testStack } from './stack/stack.ts';

/** How long reads wait for workers. A test that keeps them from storing waits this long at most. */
const READ_PATIENCE = { stillMs: 20_000, movingMs: 60_000 };

/** A whole Laurel in this process, with its own Redis and Postgres, and a client of each surface. */
export interface TestLaurel {
  app: TestClient;
  admin: TestClient;
  appUrl: string;
  adminUrl: string;
  adminKey: string;
  redisUrl: string;
  databaseUrl: string;
  redis: Redis;
  /** Another, unguarded connection to the Redis of `redis`, which answers. `close` ends it. */
  connect(): Promise<Redis>;
  pool: Pool;
  /** The context of the first frontend's operations. */
  services: Services;
  /** Another frontend on the same databases, which accepts requests; `redisUrl`: another address of the same Redis. */
  another(redisUrl?: string): Promise<{
    app: TestClient;
    admin: TestClient;
    appUrl: string;
    adminUrl: string;
    drain: Served['drain'];
    close(): Promise<void>;
  }>;
  close(): Promise<void>;
}

/**
 * Starts one. `clock`: does not advance if given. `configuration`: applied to the organisation's own tenant. `workers`:
 * whether events are moved to Postgres and due work is done. `testClock`: the admin API sets the time instead. `redisUrl`,
 * `databaseUrl`: a Redis and a migrated database that the test manages, and a key of the database (`adminKey`); `cluster`:
 * whether Redis is a cluster, by default as in the whole run (`TEST_REDIS=cluster npm test`). `log`: silent by default. `clockPatienceMs`: long by default, because a busy machine
 * takes long to start a worker; short for a test whose work fails on purpose.
 */
export async function startLaurel(
  options: {
    clock?: FixedClock;
    testClock?: boolean;
    configuration?: Configuration;
    workers?: boolean;
    /** Options of that worker that differ from its defaults. */
    worker?: Pick<WorkersOptions, 'idempotencyHotDays' | 'idempotencyKeysPerDay' | 'delivery' | 'emails'>;
    backlogLimit?: number;
    backlogLimitBytes?: number;
    webhookAllowPrivate?: boolean;
    publicUrl?: string;
    secretsKey?: Buffer;
    pushServers?: WorkersOptions['pushServers'];
    redisUrl?: string;
    databaseUrl?: string;
    adminKey?: string;
    cluster?: boolean;
    log?: Logger;
    acknowledgeMs?: number;
    clockPatienceMs?: number;
    /** Measures the disk of Postgres. */
    disk?: () => Promise<DiskSpace>;
    /** Long by default, because other tests keep Postgres busy, and tests hold locks while they do something. */
    postgresTimeoutMs?: number;
    failedKeyLimit?: number;
    idempotencyKeysPerDay?: number;
    /** Requests per second; unlimited if absent. */
    rateLimits?: Partial<RateLimits>;
    liveLimits?: LiveLimits;
    trustedProxies?: string;
    openFiles?: number;
    /** Number of shards that hold the users of the organisation's own tenant; `null` for Laurel's default. Default: TEST_SPREAD, or 1. */
    spread?: number | null;
  } = {},
): Promise<TestLaurel> {
  let { adminKey = null } = options;
  const spread = options.spread === undefined ? Number(process.env['TEST_SPREAD'] ?? 1) : options.spread;
  const prepare = async (pool: Pool): Promise<void> => {
    adminKey ??= await createAdminKeys(pool, async () => undefined).ensureFirst(null);
    // The epoch says that the spread was chosen: otherwise a cluster would spread the tenant at first.
    const chosen = 'UPDATE tenants SET spread = $1, spread_epoch = 1 WHERE no = 0 AND spread_epoch = 0';
    if (spread !== null) await pool.query(chosen, [spread]);
  };
  const stack = await testStack({
    database: options.databaseUrl === undefined ? 'migrated' : 'none',
    redis: options.redisUrl === undefined,
    cluster: options.cluster ?? isClusterRun(),
    prepare,
  });
  if (options.databaseUrl !== undefined) await prepared(options.databaseUrl, prepare);
  const databaseUrl = options.databaseUrl ?? stack.databaseUrl;
  const redisUrl = options.redisUrl ?? stack.redisUrl;
  const log = options.log ?? createLog({ level: 'fatal', name: 'test' });

  const mailing = {
    publicUrl: options.publicUrl ?? null,
    secretsKey: options.secretsKey ?? null,
    pushServers: options.pushServers ?? {},
  };
  const clock = options.testClock === true ? 'test' : (options.clock ?? systemClock);
  const frontend = async (url = redisUrl) => {
    const laurel = await openLaurel({
      redisUrl: url,
      acknowledgeMs: options.acknowledgeMs ?? null,
      databaseUrl,
      clockPatienceMs: options.clockPatienceMs ?? 120_000,
      disk: options.disk ?? null,
      // Otherwise a read beside a busy worker answers without what was written before.
      ...(options.workers === true && { readPatience: READ_PATIENCE }),
      postgresTimeoutMs: options.postgresTimeoutMs ?? 60_000,
      backlogLimit: options.backlogLimit ?? 100_000,
      backlogLimitBytes: options.backlogLimitBytes ?? 1_073_741_824,
      webhookAllowPrivate: options.webhookAllowPrivate ?? false,
      ...mailing,
      ...(options.idempotencyKeysPerDay !== undefined && { idempotencyKeysPerDay: options.idempotencyKeysPerDay }),
      ...(options.liveLimits !== undefined && { liveLimits: options.liveLimits }),
      clock,
      log,
    });
    const listening = {
      host: '127.0.0.1',
      adminHost: '127.0.0.1',
      appPort: 0,
      adminPort: 0,
      bodyBytes: 4_194_304,
      corsOrigin: '*',
      sharedPort: false,
      log,
      rateLimits: { applicationPerSecond: 0, adminPerSecond: 0, filesPerSecond: 0, ...options.rateLimits },
      failedKeyLimit: options.failedKeyLimit ?? null,
      trustedProxies: parseNetworks(options.trustedProxies ?? '') ?? [],
      ...(options.openFiles !== undefined && { openFiles: options.openFiles }),
    };
    const served = await serve(laurel, listening);
    const appUrl = `http://127.0.0.1:${served.appPort}`;
    const adminUrl = `http://127.0.0.1:${served.adminPort}`;
    let closing: Promise<void> | undefined;
    const end = async (): Promise<void> => {
      await served.drain({ graceMs: 0, lingerMs: 0, timeoutMs: 1_000 });
      await laurel.close();
    };
    return {
      laurel,
      appUrl,
      adminUrl,
      app: new TestClient({
        baseUrl: appUrl,
        surface: 'application',
        operations: applicationOperations,
        key: adminKey,
      }),
      admin: new TestClient({
        baseUrl: adminUrl,
        surface: 'admin',
        operations: existing(adminOperations, laurel.services),
        key: adminKey,
      }),
      drain: (...how: Parameters<Served['drain']>) => served.drain(...how),
      close: () => (closing ??= end()),
    };
  };

  const first = await frontend().catch(async (error: unknown) => {
    await stack.close();
    throw error;
  });
  // Redis is accepted in the background, which takes time on a busy machine. A Redis of the test may be about to fail.
  await untilReady(first, options.redisUrl === undefined ? 120_000 : 20_000);
  const others: { close(): Promise<void> }[] = [];
  const connections: Redis[] = [];
  if (options.workers === true) {
    const acknowledgeMs = options.acknowledgeMs ?? null;
    const delivery = { allowPrivate: options.webhookAllowPrivate ?? false };
    const servers = { redisUrl, acknowledgeMs, databaseUrl };
    others.push(await startWorkers({ ...servers, ...mailing, clock, log, delivery, ...options.worker }));
  }
  if (options.configuration !== undefined) {
    const apply = () => first.admin.put('/v1/configuration', options.configuration);
    let applied = await apply();
    // A Redis that does not answer for 3 s counts as down, which may be wrong on a busy machine.
    while (applied.status === 503) applied = await sleep(100).then(apply);
    if (applied.status !== 200) throw new Error(`The configuration was refused: ${JSON.stringify(applied.body)}`);
  }
  return {
    ...first,
    adminKey: adminKey!,
    redisUrl,
    databaseUrl,
    redis: first.laurel.redis,
    connect: async () => {
      const redis = await connectRedis(redisUrl);
      connections.push(redis);
      await Promise.all(
        [redis, ...endpointsOf(redis).map((endpoint) => endpoint.redis)].map((each) => redisReady(each)),
      );
      return redis;
    },
    services: first.laurel.services,
    pool: first.laurel.pool,
    another: async (url) => {
      const more = await frontend(url);
      others.push(more);
      await untilReady(more, 20_000);
      return more;
    },
    close: async () => {
      for (const connection of connections.splice(0)) connection.disconnect();
      for (const other of others) await other.close();
      await first.close();
      await stack.close();
    },
  };
}

/** Resolves when a frontend accepts requests of all tenants, or after a while: a test may be about one that does not. */
async function untilReady(
  { laurel, adminUrl }: { laurel: Laurel; adminUrl: string },
  patienceMs: number,
): Promise<void> {
  const isReady = async (): Promise<boolean> => laurel.isWhole() && (await fetch(`${adminUrl}/readyz`)).status === 200;
  const deadlineMs = performance.now() + patienceMs;
  while (!(await isReady()) && performance.now() < deadlineMs) await sleep(20);
}
