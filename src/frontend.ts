import { endWithParent, tellReady } from './child-process.ts';
import { systemClock } from './clock.ts';
import { openLaurel } from './composition.ts';
import { readEnv } from './env.ts';
import { createAuthenticator } from './http/auth.ts';
import { createReadiness } from './http/readiness.ts';
import { createServer, type Server } from './http/server.ts';
import { createTenantResolver } from './http/tenancy.ts';
import { createLog } from './log.ts';
import { adminOperations, applicationOperations } from './operations/index.ts';
import { findKey } from './postgres/find-key.ts';
import { isMigrated } from './postgres/migrate.ts';
import { StartError } from './start-error.ts';

/** How long requests in flight get to finish; the supervisor waits a little longer. */
const DRAIN_MS = 10_000;
/** How long a load balancer gets to see that this process is going, before connections are refused. */
const GRACE_MS = { production: 2_000, otherwise: 0 };

/** A frontend process: both surfaces, on databases that are there and migrated. SIGTERM or SIGINT ends it well. */
async function main(): Promise<void> {
  const env = readEnv(process.env);
  const { redisUrl, databaseUrl, backlogLimit } = env;
  if (redisUrl === null || databaseUrl === null) throw new StartError('A frontend needs REDIS_URL and DATABASE_URL.');
  const log = createLog({ level: env.logLevel, name: 'frontend' });
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  endWithParent();

  const laurel = await openLaurel({ redisUrl, databaseUrl, backlogLimit, clock: systemClock, log });
  const { services, redis, pool } = laurel;
  const keys = createAuthenticator({ lookup: { find: (prefix) => findKey(pool, prefix) } });
  laurel.onOrganisationChanged(() => keys.invalidate());
  const readiness = createReadiness({
    Redis: () => redis.ping(),
    Postgres: () => pool.query('SELECT 1'),
    migrations: async () => {
      if (!(await isMigrated(pool))) throw new Error('The database is not migrated.');
    },
  });

  const surfaces = [
    { surface: 'application', operations: applicationOperations, port: env.appPort },
    { surface: 'admin', operations: adminOperations, port: env.adminPort },
  ] as const;
  const servers: Server[] = [];
  for (const { surface, operations, port } of surfaces) {
    const server = createServer({
      surface,
      operations,
      services,
      authenticate: (header) => keys.authenticate(header),
      resolveTenant: createTenantResolver(services.tenants),
      limits: { bodyBytes: env.bodyLimitBytes },
      readiness,
      log,
      sharedPort: env.httpProcesses > 1,
    });
    await server.listen(env.host, port);
    servers.push(server);
  }
  log.info({ appPort: env.appPort, adminPort: env.adminPort }, 'frontend started');
  tellReady();

  await ended;
  const graceMs = env.production ? GRACE_MS.production : GRACE_MS.otherwise;
  const cutOff = await Promise.all(servers.map((server) => server.drain({ graceMs, timeoutMs: DRAIN_MS })));
  await laurel.close();
  log.info({ cutOff: cutOff.reduce((sum, count) => sum + count, 0) }, 'frontend ended');
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof StartError ? error.message : error);
    process.exit(1);
  },
);
