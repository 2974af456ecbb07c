import type { Redis } from 'ioredis';
import type { Laurel } from './composition.ts';
import { createAuthenticator } from '../http/access/auth.ts';
import type { Network } from '../domain/networks.ts';
import { mostConnections, mostOpenFiles } from '../http/access/connection-limit.ts';
import { FailedKeys, type KeyRefusal } from '../http/access/key-refusal.ts';
import type { Log } from '../telemetry/log.ts';
import { callerLimits, createFileLimit, createRateLimit, type RateLimits } from '../http/access/rate-limit.ts';
import { Admission } from '../http/access/admission.ts';
import { Shares } from '../http/access/shares.ts';
import { createReadiness, type ReadinessCheck } from '../http/health.ts';
import type { Server } from '../http/listening.ts';
import { createSenderOf } from '../http/refused-at-once.ts';
import { createServer } from '../http/server.ts';
import { createSessionAuthenticator } from '../http/access/session-auth.ts';
import { hostCheck } from '../domain/host-names.ts';
import { createTenantResolver } from '../http/access/tenancy.ts';
import { consolePage, referencePage } from './pages.ts';
import { type Family, metricsText } from '../telemetry/metrics.ts';
import { ownMetrics } from './child-process.ts';
import { createInstallationMetrics } from './installation-metrics.ts';
import { adminOperations, applicationOperations } from '../operations/index.ts';
import { existing, type Operation } from '../operations/operation.ts';
import { endpointsOf } from '../redis/endpoints.ts';
import { isSilent } from '../redis/outage.ts';
import { memoryUsedRatio } from '../redis/server-info.ts';
import { isPostgresNotedFull, notePostgresFull } from '../redis/work-counts.ts';
import { GatheredLookup, keyLookup, type KeyRecord, KeyUses } from '../postgres/access/keys.ts';
import { RefusedKeys } from '../postgres/access/audit.ts';
import { findSessions, sessionName } from '../postgres/access/sessions.ts';
import type { Traces } from '../telemetry/traces.ts';
import { isMigrated } from '../postgres/migrate.ts';

export interface Served {
  /** The chosen ports, also where the options say 0. */
  appPort: number;
  adminPort: number;
  /** Drains both surfaces, see `Server.drain`. Returns the number of requests that were cut off. */
  drain(options: { graceMs: number; lingerMs: number; timeoutMs: number }): Promise<number>;
}

/** The Application API below `/application` of the admin port, for admin keys and sessions. The console reads users there. */
const onAdminPort = (operations: readonly Operation[]): Operation[] =>
  operations
    // The admin port has its own live streams.
    .filter(({ path }) => !path.startsWith('/v1/live'))
    .map((operation) => ({ ...operation, path: `/application${operation.path}`, aliases: [] }));

/**
 * Ready: events of at least one tenant are accepted, for which Postgres is not needed. Redis is not queried: the guards query it
 * all the time, and a probe would wait behind the commands of events.
 */
function readinessChecks(laurel: Laurel): Record<string, ReadinessCheck> {
  const { redis, pool } = laurel;
  const servers = (): Redis[] => endpointsOf(redis).map((server) => server.redis);
  const isConnected = ({ status }: Redis): boolean => status === 'ready';
  const answers = (each: Redis): boolean => isConnected(each) && !isSilent(each);
  // A Redis that does not answer is named by another check.
  const hasRoom = async (server: Redis): Promise<void> => {
    const ratio = answers(server) ? await memoryUsedRatio(server).catch(() => null) : null;
    if (ratio !== null && ratio > 1) throw new Error('The memory limit is reached.');
  };
  const postgresHasRoom = async (): Promise<void> => {
    if (await isPostgresNotedFull(redis).catch(() => false)) throw new Error('The disk is full.');
  };
  // Migrations are never reverted, so the last answer stays valid while Postgres is unreachable.
  let migrated = false;
  const checkMigrated = async (): Promise<void> => {
    migrated = await isMigrated(pool);
    if (!migrated) throw new Error('The database is not migrated.');
  };
  return {
    Redis: { check: () => servers().some(isConnected), needed: true },
    'live data': { check: () => laurel.isReady(null), needed: true },
    migrations: { check: () => migrated || checkMigrated(), needed: true },
    backlog: { check: () => !laurel.isBacklogFull(), needed: true },
    clock: { check: () => !laurel.clockSkew.isRefused, needed: true },
    Postgres: { check: () => pool.query('SELECT 1'), needed: false },
    'some Redis': { check: () => servers().every(answers), needed: false },
    'some tenants': { check: () => laurel.isWhole(), needed: false },
    'Redis memory': { check: () => Promise.all(servers().map(hasRoom)), needed: false },
    'Postgres disk': { check: postgresHasRoom, needed: false },
    replicas: { check: () => laurel.areReplicasThere(), needed: false },
  };
}

interface ServeOptions {
  host: string;
  adminHost: string;
  /** Further names that the admin port accepts; none by default. */
  adminHostnames?: readonly string[];
  appPort: number;
  adminPort: number;
  bodyBytes: number;
  corsOrigin: string | null;
  rateLimits: RateLimits;
  /** Wrong keys per minute from one client; `null` for no limit. */
  failedKeyLimit: number | null;
  trustedProxies: readonly Network[];
  /** The number of files that the process may open; by default, the system's limit. */
  openFiles?: number | null;
  /** The size of Postgres's disk; `null` if unknown, which is the default. */
  postgresDiskBytes?: number | null;
  /** Metrics of all processes that `/metrics` covers. Default: of this process. */
  gathered?: () => Promise<Family[]>;
  sharedPort: boolean;
  traces?: Traces | null;
  log: Log;
}

/** Authentication by keys and by sessions. Both forget what changes. */
function createAuthentication(laurel: Laurel, uses: KeyUses) {
  const { services, pool } = laurel;
  const noted = {
    clockMs: () => services.clock.now(),
    onUse: (key: KeyRecord, atMs: number) => uses.note(key, atMs),
  };
  const keys = createAuthenticator({ ...noted, lookup: keyLookup(pool) });
  const sessions = createSessionAuthenticator({
    ...noted,
    lookup: new GatheredLookup(
      (hashes) => findSessions(pool, hashes),
      ({ hash }) => sessionName(hash),
    ),
  });
  laurel.onCredentialsChanged((names) => {
    keys.forget(names);
    sessions.forget(names);
  });
  return { keys, sessions };
}

async function listen(
  app: Server,
  admin: Server,
  { host, adminHost, ...ports }: Pick<ServeOptions, 'host' | 'adminHost' | 'appPort' | 'adminPort'>,
): Promise<{ appPort: number; adminPort: number }> {
  try {
    const appPort = await app.listen(host, ports.appPort);
    const adminPort = await admin.listen(adminHost, ports.adminPort);
    return { appPort, adminPort };
  } catch (error) {
    for (const server of [app, admin]) server.close();
    throw error;
  }
}

/** Opens both surfaces of a Laurel. Rejects, with nothing left open, if a port is taken. */
export async function serve(laurel: Laurel, options: ServeOptions): Promise<Served> {
  const { services, redis, pool, metrics } = laurel;
  const { bodyBytes, failedKeyLimit, gathered = ownMetrics(metrics.registry, 'frontend') } = options;
  const uses = new KeyUses(pool);
  const refused = new RefusedKeys(services.recordAudit);
  const { keys, sessions } = createAuthentication(laurel, uses);
  const organisationPerSecond = (): number | null => services.tenants.organisation().rateLimit;
  const admission = new Admission();
  metrics.watchAdmission(admission);
  const readiness = createReadiness(readinessChecks(laurel));
  metrics.requests.onPostgresFull = () => void notePostgresFull(redis);
  const shared = {
    services,
    authenticate: keys.authenticate,
    senderOf: createSenderOf(keys.recall, services.tenants),
    failedKeys: failedKeyLimit === null ? undefined : new FailedKeys({ perMinute: failedKeyLimit }),
    trustedProxies: options.trustedProxies,
    resolveTenant: createTenantResolver(services.tenants),
    boardValues: () => services.tenants.organisation().boardValues,
    limits: { bodyBytes },
    rateLimit: createRateLimit(options.rateLimits, organisationPerSecond),
    shares: new Shares({ limitOf: callerLimits(options.rateLimits, organisationPerSecond) }),
    admission,
    fileLimit: createFileLimit(options.rateLimits.filesPerSecond),
    readiness,
    isReady: (tenantNo: number | null) => laurel.isReady(tenantNo),
    onRefused: (refusal: KeyRefusal, address: string | null) => refused.note(refusal, address),
    endStreams: () => services.live.endAll(),
    requests: metrics.requests,
    log: options.log,
    traces: options.traces ?? null,
    sharedPort: options.sharedPort,
  };
  const reference = referencePage();
  const pages = reference === null ? [] : [reference];
  const most = mostConnections(options.openFiles === undefined ? mostOpenFiles() : options.openFiles);
  const ofAdmin = existing(adminOperations, services);
  const app = createServer({
    ...shared,
    surface: 'application',
    mostConnections: most.application,
    corsOrigin: options.corsOrigin,
    operations: applicationOperations,
    otherPort: { operations: ofAdmin, port: options.adminPort },
    pages,
    mailPages: true,
  });
  const ofConsole = consolePage();
  const installation = createInstallationMetrics({
    redis,
    pool,
    clock: services.clock,
    postgresDiskBytes: options.postgresDiskBytes ?? null,
  });
  const admin = createServer({
    ...shared,
    surface: 'admin',
    mostConnections: most.admin,
    sessions,
    operations: [...ofAdmin, ...onAdminPort(applicationOperations)],
    otherPort: { operations: applicationOperations, port: options.appPort },
    tools: { operations: [...ofAdmin, ...applicationOperations], secret: laurel.keyFor('confirmations of assistants') },
    pages: ofConsole === null ? pages : [...pages, ofConsole],
    acceptsHost: hostCheck(options.adminHost, options.adminHostnames ?? []),
    // Notices name servers, so only the admin port shows them.
    notices: () => laurel.notices(),
    metrics: async () => metricsText((await Promise.all([installation(), gathered()])).flat()),
  });
  metrics.watchServers({ application: app, admin });
  const { appPort, adminPort } = await listen(app, admin, options);
  return {
    appPort,
    adminPort,
    drain: async (timing) => {
      const cutOff = await Promise.all([app.drain(timing), admin.drain(timing)]);
      await Promise.all([uses.flush(), refused.flush()]);
      return cutOff.reduce((sum, count) => sum + count, 0);
    },
  };
}
