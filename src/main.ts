import { readEnv, type Env } from './settings/env.ts';
import { keyOfFailedStart, prepareDatabase, StartSteps, welcome, NODE_OPTIONS } from './processes/first-start.ts';
import { requireFreePorts } from './local/free-ports.ts';
import { uws } from './http/uws.ts';
import { acceptServers, warnOfRedisSettings } from './engine/availability/accept-servers.ts';
import { startServers } from './local/private-services.ts';
import { createLog, lastWords, logProcessErrors } from './telemetry/log.ts';
import { StartError } from './start-error.ts';
import { Supervisor } from './processes/supervisor.ts';

/** What an `npm start` runs: everything, or one of the two on machines that share the work. */
const ROLES = ['all', 'http', 'workers'] as const;

const DRAIN_MS = 15_000;
/** A second Ctrl-C forces the end only after this time, since npm also passes on a signal that the terminal sent. */
const IMPATIENT_MS = 1_000;

/** Interval of the check whether the npm that started this process still runs. */
const LOOK_MS = 500;

const say = (text: string): void => console.log(text);

async function main(): Promise<void> {
  const role = process.argv[2] ?? 'all';
  if (!(ROLES as readonly string[]).includes(role))
    throw new StartError(`"${role}" is not one of ${ROLES.join(', ')}.`);
  const env = readEnv(process.env);
  const log = createLog({ level: env.logLevel, name: 'main' });
  const supervisor = new Supervisor(log);
  let stopServers = async (): Promise<void> => undefined;
  let unsaidKey: string | null = null;

  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopping ??= stopInOrder());
  const stopInOrder = async (): Promise<void> => {
    if (unsaidKey !== null) say(keyOfFailedStart(unsaidKey));
    // Frontends first: the workers process what they accepted, and need the servers for that.
    await supervisor.stop('frontend', DRAIN_MS);
    await supervisor.stop('worker', DRAIN_MS);
    await stopServers();
  };
  onSignal(stop, () => supervisor.kill());

  try {
    if (role !== 'workers') {
      requireHttpServer();
      await requireFreePorts([
        { host: env.host, port: env.appPort, hostVariable: 'HOST', portVariable: 'APP_PORT' },
        { host: env.adminHost, port: env.adminPort, hostVariable: 'ADMIN_HOST', portVariable: 'ADMIN_PORT' },
      ]);
    }
    if (role !== 'http' && env.metricsPort !== null) {
      const port = env.metricsPort;
      await requireFreePorts([{ host: env.adminHost, port, hostVariable: 'ADMIN_HOST', portVariable: 'METRICS_PORT' }]);
    }
    const steps = new StartSteps(role === 'workers' ? 2 : 3, say);
    const servers = await steps.run(serversStep(env), async () => {
      const started = await startServers(env, say);
      stopServers = () => started.stop();
      await acceptServers(started);
      return started;
    });
    await warnOfRedisSettings(servers.redisUrl, log);
    const prepared =
      role === 'workers'
        ? null
        : await steps.run(
            {
              name: 'Database: schema, first key and demo',
              waitsFor: env.migrateAtStart ? 'Postgres to apply the schema' : '`laurel migrate`',
            },
            () => prepareDatabase(env, servers, log),
          );
    unsaidKey = prepared?.newKey ?? null;
    await steps.run(processesStep(role, env), () => startProcesses(supervisor, role, env, servers));
    unsaidKey = null;
    say(prepared === null ? 'The worker is running.' : welcome(env, prepared));

    const problem = await servers.failed;
    throw new StartError(`${problem} Laurel stops; start it again, its data is kept.`);
  } catch (error) {
    // Failures while a start is being aborted are not reported.
    const calledOff = stopping !== null;
    await stop();
    if (!calledOff) throw error;
  }
}

/** The first step's description, and the servers that it waits for. */
function serversStep({ redisUrl, databaseUrl, dataDir }: Env): { name: string; waitsFor: string } {
  const own = [...(redisUrl === null ? ['Redis'] : []), ...(databaseUrl === null ? ['Postgres'] : [])];
  const given = [
    ...(redisUrl === null ? [] : ['Redis (REDIS_URL)']),
    ...(databaseUrl === null ? [] : ['Postgres (DATABASE_URL)']),
  ];
  const parts = [
    ...(own.length > 0 ? [`private ${own.join(' and ')} in ${dataDir}`] : []),
    ...(given.length > 0 ? [given.join(' and ')] : []),
  ];
  return { name: `Servers: ${parts.join(', ')}`, waitsFor: [...own, ...given].join(' and ') };
}

/** The last step's description. Frontends are ready when they serve live data, workers when the schema exists. */
function processesStep(role: string, { httpProcesses, migrateAtStart }: Env): { name: string; waitsFor: string } {
  const frontends = httpProcesses === 1 ? 'frontend' : `${httpProcesses} frontends`;
  const what = { all: `worker and ${frontends}`, http: frontends, workers: 'worker' }[role] ?? role;
  const prepares = migrateAtStart ? 'a frontend' : '`laurel migrate`';
  const needs = role === 'workers' ? `the database of this version, which ${prepares} prepares` : 'Redis and Postgres';
  const need = role === 'workers' || what === 'frontend' ? 'it needs' : 'they need';
  return { name: `Processes: ${what}`, waitsFor: `${what} to be ready; ${need} ${needs}` };
}

function requireHttpServer(): void {
  try {
    uws();
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}

async function startProcesses(
  supervisor: Supervisor,
  role: string,
  env: Env,
  servers: { redisUrl: string; databaseUrl: string },
): Promise<void> {
  const variables = { ...process.env, REDIS_URL: servers.redisUrl, DATABASE_URL: servers.databaseUrl };
  if (role !== 'http') {
    await supervisor.start({
      name: 'worker',
      file: new URL('../workers/main.js', import.meta.url),
      env: variables,
      nodeOptions: NODE_OPTIONS,
    });
  }
  if (role !== 'workers') {
    for (let no = 1; no <= env.httpProcesses; no++) {
      const file = new URL('./processes/frontend.js', import.meta.url);
      // The first one proves that a frontend can start here. A failure of a later one must not end those that serve.
      const frontend = { name: `frontend ${no}`, file, env: variables, nodeOptions: NODE_OPTIONS };
      await supervisor.start(frontend, { retry: no > 1 });
    }
  }
}

/**
 * The first signal stops everything in order; a later one stops it at once. If `npm start` itself was killed
 * and could not pass on a signal, its processes stop as well.
 */
function onSignal(stop: () => Promise<void>, kill: () => void): void {
  let askedMs: number | null = null;
  const end = (signal: NodeJS.Signals | 'npm is gone'): void => {
    if (askedMs !== null) {
      if (performance.now() - askedMs > IMPATIENT_MS) kill();
      return;
    }
    askedMs = performance.now();
    say(`\n${signal}: finishing what is under way …`);
    stop().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
  // SIGHUP: the terminal was closed.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  if (process.env['npm_lifecycle_event'] !== 'start') return;
  const npm = process.ppid;
  const parentCheck = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(parentCheck);
    // A closed terminal ends npm too, and is no second request.
    if (askedMs === null) end('npm is gone');
  }, LOOK_MS).unref();
}

function fail(error: unknown): never {
  console.error(lastWords(error));
  process.exit(1);
}

logProcessErrors('main');
main().catch(fail);
