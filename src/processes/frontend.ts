import { endWithParent, gatheredMetrics, tellReady } from './child-process.ts';
import { systemClock } from '../clock.ts';
import { openLaurel } from './composition.ts';
import { privateDisk } from '../local/disk-space.ts';
import { readEnv } from '../settings/env.ts';
import { createLog, endWith, logProcessErrors } from '../telemetry/log.ts';
import { serve } from './serve.ts';
import { StartError } from '../start-error.ts';
import { openTraces } from '../telemetry/open-traces.ts';

/** Time limit for requests in flight at the end. The supervisor waits a little longer. */
const DRAIN_MS = 10_000;
/** Time for a load balancer to notice that this process is ending, before connections are refused. */
const GRACE_MS = { production: 2_000, otherwise: 0 };
/** Time for clients to be asked to close kept-alive connections. */
const LINGER_MS = 1_000;

/** Requests per second from one address for documents and pages, which need no key. */
const FILES_PER_SECOND = 50;
/** Maximum live streams per user, who has a few devices with a few pages each. A stream takes 17 KiB. */
const STREAMS_A_USER = 100;

/** A frontend process: both surfaces, on migrated databases. SIGTERM or SIGINT ends it gracefully. */
async function main(): Promise<void> {
  const env = readEnv(process.env);
  const { redisUrl, databaseUrl } = env;
  if (redisUrl === null || databaseUrl === null) throw new StartError('A frontend needs REDIS_URL and DATABASE_URL.');
  const log = createLog({ level: env.logLevel, name: 'frontend' });
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  endWithParent();

  const traces = await openTraces(env.traces, 'frontend', log);
  const clock = env.testClock ? 'test' : systemClock;
  const laurel = await openLaurel({
    ...env,
    redisUrl,
    databaseUrl,
    // A given size counts more: the disk of this machine may not be the one that fills first.
    disk: env.postgresDiskBytes === null ? await privateDisk(env.dataDir, databaseUrl) : null,
    liveLimits: { connections: env.liveConnections, perUser: STREAMS_A_USER },
    clock,
    traces,
    log,
  });
  const served = await serve(laurel, {
    ...env,
    bodyBytes: env.bodyLimitBytes,
    rateLimits: {
      applicationPerSecond: env.rateLimit,
      adminPerSecond: env.adminRateLimit,
      filesPerSecond: FILES_PER_SECOND,
    },
    gathered: gatheredMetrics(laurel.metrics.registry, 'frontend'),
    sharedPort: env.httpProcesses > 1,
    traces,
    log,
  });
  log.info({ appPort: env.appPort, adminPort: env.adminPort }, 'frontend started');
  tellReady();

  await ended;
  const graceMs = env.production ? GRACE_MS.production : GRACE_MS.otherwise;
  const cutOff = await served.drain({ graceMs, lingerMs: LINGER_MS, timeoutMs: DRAIN_MS });
  await laurel.close();
  await traces?.close();
  log.info({ cutOff }, 'frontend ended');
}

logProcessErrors('frontend');
main().then(
  () => process.exit(0),
  (error: unknown) => endWith(error, 'frontend'),
);
