import type { Logger } from 'pino';
import { endWithParent, gatheredMetrics, supervisedRuns, tellReady } from '../src/processes/child-process.ts';
import { systemClock } from '../src/clock.ts';
import { readEnv } from '../src/settings/env.ts';
import { createLog, endWith, logProcessErrors } from '../src/telemetry/log.ts';
import { waitForMigrations } from '../src/postgres/migrate.ts';
import { createPool } from '../src/postgres/pool.ts';
import { HANDED_MS } from '../src/redis/handed-over.ts';
import { StartError } from '../src/start-error.ts';
import { openTraces } from '../src/telemetry/open-traces.ts';
import { metricsText } from '../src/telemetry/metrics.ts';
import { openMetricsPort, WorkerMetrics } from './worker-metrics.ts';
import { startWorkers } from './start.ts';

/** A worker process. It has no port unless METRICS_PORT is set. SIGTERM or SIGINT ends it after the outbox is stored. */
async function main(): Promise<void> {
  const env = readEnv(process.env);
  const { redisUrl, databaseUrl } = env;
  if (redisUrl === null || databaseUrl === null) throw new StartError('A worker needs REDIS_URL and DATABASE_URL.');
  const log = createLog({ level: env.logLevel, name: 'worker' });

  const ended = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => ended.abort());
  endWithParent();

  await migrated(databaseUrl, log, ended.signal);
  if (ended.signal.aborted) return;
  const metrics = new WorkerMetrics();
  const gathered = gatheredMetrics(metrics.registry, 'worker');
  const traces = await openTraces(env.traces, 'worker', log);
  const clock = env.testClock ? 'test' : systemClock;
  const workers = await startWorkers({
    ...env,
    redisUrl,
    databaseUrl,
    keepMs: HANDED_MS,
    runs: supervisedRuns(),
    delivery: { allowPrivate: env.webhookAllowPrivate },
    clock,
    metrics,
    traces,
    log,
  });
  const closePort =
    env.metricsPort === null
      ? async () => undefined
      : await openMetricsPort(
          { host: env.adminHost, port: env.metricsPort, hostnames: env.adminHostnames },
          async () => metricsText(await gathered()),
          log,
        );
  log.info('worker started');
  tellReady();
  if (!ended.signal.aborted) await new Promise((resolve) => ended.signal.addEventListener('abort', resolve));
  await workers.close();
  await closePort();
  await traces?.close();
  log.info('worker ended');
}

/** Waits until a frontend or `laurel migrate` has migrated the database. Throws `MigrationError` if another version has. */
async function migrated(databaseUrl: string, log: Logger, ended: AbortSignal): Promise<void> {
  const pool = createPool(databaseUrl, { max: 1 });
  try {
    await waitForMigrations(pool, ended, () => log.info('waiting for the database and its migrations'));
  } finally {
    await pool.end();
  }
}

logProcessErrors('worker');
try {
  await main();
  process.exit(0);
} catch (error) {
  endWith(error, 'worker');
}
