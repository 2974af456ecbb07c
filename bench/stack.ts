import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readEnv } from '../src/settings/env.ts';
import type { AdminOptions } from '../src/cli/admin-api.ts';
import { LoadProcesses } from '../src/cli/load/processes.ts';
import { prepareDatabase, NODE_OPTIONS } from '../src/processes/first-start.ts';
import { freePort } from '../src/local/free-ports.ts';
import { startPostgres } from '../src/local/postgres-server.ts';
import { findRedisProgram, startRedis } from '../src/local/redis-server.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { createPool } from '../src/postgres/pool.ts';
import { createRedis, redisReady } from '../src/redis/client.ts';
import { SHARDS } from '../src/redis/keys.ts';
import { backlog } from '../src/redis/outbox.ts';
import { processCpu, redisUse, treeCpu } from './cpu.ts';
import type { Crowds } from './crowds.ts';
import type { DirectJob, LoadJob, Outcome } from './jobs.ts';
import { runLoad } from './load.ts';
import { preparePlainService } from './plain-service/prepare.ts';
import { ListeningWebhooks } from './webhooks/listening.ts';

const API_KEY = 'bench.0123456789abcdef0123456789abcdef';
const READY_TIMEOUT_MS = 60_000;
const DRAIN_TIMEOUT_MS = 300_000;

/** Variables of traces from the environment, to measure the cost of spans. */
const tracing = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('OTEL_')));

/** All of Laurel with its own servers, as `npm start` runs it, and the processes that make load. */
export interface Stack {
  url: string;
  adminUrl: string;
  bareUrl: string;
  plainUrls: { ranked: string; unranked: string };
  /** Metrics with their own leaderboards, see `crowds.ts`; empty until they are created. */
  crowds: Crowds;
  apiKey: string;
  /** How `askAdmin` reaches its Admin API. */
  admin: AdminOptions;
  redisUrl: string;
  databaseUrl: string;
  redis: Redis;
  pool: Pool;
  pids: Record<'frontend' | 'worker' | 'postgres' | 'bare' | 'plain' | 'unranked' | 'direct', number>;
  /** Runs a job in a separate process; returns its outcome. */
  load: (job: LoadJob) => Promise<Outcome>;
  direct: (job: DirectJob) => Promise<Outcome>;
  /** Stops the worker, or lets it continue. */
  persist(on: boolean): void;
  /** The number of events in Postgres. */
  events(): Promise<number>;
  /** Resolves when Postgres has everything. */
  drained(): Promise<void>;
  /** The webhooks, none at first. */
  webhooks: ListeningWebhooks;
  /** Starts one more frontend, with options of Node; returns its URL. */
  anotherFrontend(nodeOptions: readonly string[]): Promise<string>;
  /** Ends the frontend, so that it writes its profile. */
  endFrontend(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts Redis and Postgres with their default settings (every answer on disk) on a new data directory below `parent`, the
 * demo catalog, one frontend and one worker. `profileTo`: a folder for the CPU profiles of both, each in a folder of its own.
 */
export async function startStack({
  parent = tmpdir(),
  profileTo,
  users,
  settings = {},
}: {
  parent?: string;
  profileTo?: string;
  /** The number of users that the plain service has initially. */
  users: number;
  /** Further environment variables of Laurel. */
  settings?: Readonly<Record<string, string>>;
}): Promise<Stack> {
  const program = findRedisProgram();
  if (program === null) throw new Error('The benchmark needs redis-server or valkey-server on the PATH.');
  const folder = await mkdtemp(join(parent, 'laurel-bench-'));
  const children: ChildProcess[] = [];
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const child of children) child.kill('SIGCONT');
    await Promise.all(children.map((child) => end(child)));
    for (const close of closers.toReversed()) await close();
  };
  try {
    const redisServer = await startRedis({
      program,
      directory: join(folder, 'redis'),
      password: null,
      durable: true,
      temporary: false,
    });
    closers.push(() => redisServer.stop());
    const postgres = await startPostgres({ directory: join(folder, 'postgres'), password: 'bench', temporary: false });
    closers.push(() => postgres.stop());

    const servers = { redisUrl: redisServer.url, databaseUrl: postgres.url };
    const [appPort, adminPort] = [await freePort(), await freePort()];
    const variables = {
      PATH: process.env['PATH'],
      ...tracing(),
      HOST: '127.0.0.1',
      APP_PORT: String(appPort),
      ADMIN_PORT: String(adminPort),
      REDIS_URL: servers.redisUrl,
      DATABASE_URL: servers.databaseUrl,
      ADMIN_API_KEY: API_KEY,
      // The measured loads exceed the limits of one user.
      RATE_LIMIT: '0',
      IDEMPOTENCY_KEYS_PER_DAY: '0',
      // The receiver of webhooks is on this machine.
      WEBHOOK_ALLOW_PRIVATE: '1',
      // A worker that was stopped for a while warns that its jobs were taken from it.
      LOG_LEVEL: 'error',
      ...settings,
    };
    await prepareDatabase(readEnv(variables), servers);

    const redis = createRedis(servers.redisUrl);
    redis.on('error', () => undefined);
    const pool = createPool(servers.databaseUrl, { max: 1 });
    closers.push(async () => {
      redis.disconnect();
      await pool.end();
    });
    await redisReady(redis);

    const start = (file: string, options: { env?: NodeJS.ProcessEnv; execArgv?: string[] } = {}): ChildProcess => {
      const child = fork(new URL(file, import.meta.url), { execArgv: ['--enable-source-maps'], ...options });
      children.push(child);
      return child;
    };
    const profiling = (of: 'frontend' | 'worker'): string[] =>
      profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(profileTo, of)}`];
    const argsOf = (name: 'frontend' | 'worker'): string[] => [
      '--enable-source-maps',
      ...NODE_OPTIONS,
      ...profiling(name),
    ];
    const worker = await ready(start('../workers/main.js', { env: variables, execArgv: argsOf('worker') }));
    const frontend = await ready(
      start('../src/processes/frontend.js', { env: variables, execArgv: argsOf('frontend') }),
    );
    const receiver = start('./webhooks/receiver.js');
    const { port: receiverPort } = (await message(receiver)) as { port: number };
    const bare = start('./bare-server.js');
    const barePort = await message(bare);
    const direct = start('./direct.js');
    const load = new LoadProcesses(1);
    closers.push(() => load.end());

    const catalog = await loadCatalog(pool, 0);
    if (catalog === null) throw new Error('There is no demo catalog.');
    const plainDatabaseUrl = await preparePlainService(servers.databaseUrl, { catalog, users });
    const plainService = (ranks: '0' | '1'): ChildProcess =>
      start('./plain-service/server.js', { env: { ...variables, DATABASE_URL: plainDatabaseUrl, RANKS: ranks } });
    const [plain, unranked] = [plainService('1'), plainService('0')];
    const plainPorts = [await message(plain), await message(unranked)];

    const admin = { url: `http://127.0.0.1:${adminPort}`, key: API_KEY };
    return {
      url: `http://127.0.0.1:${appPort}`,
      adminUrl: admin.url,
      bareUrl: `http://127.0.0.1:${String(barePort)}`,
      plainUrls: {
        ranked: `http://127.0.0.1:${String(plainPorts[0])}`,
        unranked: `http://127.0.0.1:${String(plainPorts[1])}`,
      },
      crowds: { small: '', large: '' },
      apiKey: API_KEY,
      admin,
      ...servers,
      redis,
      pool,
      pids: {
        frontend: frontend.pid!,
        bare: bare.pid!,
        worker: worker.pid!,
        postgres: postgres.pid,
        direct: direct.pid!,
        plain: plain.pid!,
        unranked: unranked.pid!,
      },
      load: (job) => runLoad(load, job),
      direct: (job) => askDirect(direct, job),
      persist: (on) => void worker.kill(on ? 'SIGCONT' : 'SIGSTOP'),
      events: async () => Number((await pool.query<{ count: string }>('SELECT count(*) FROM events')).rows[0]?.count),
      drained: () => drained(redis),
      webhooks: new ListeningWebhooks({
        admin,
        pool,
        receiverUrl: `http://127.0.0.1:${receiverPort}/`,
      }),
      anotherFrontend: async (nodeOptions) => {
        const [port, otherPort] = [await freePort(), await freePort()];
        const env = { ...variables, APP_PORT: String(port), ADMIN_PORT: String(otherPort) };
        const execArgv = ['--enable-source-maps', ...nodeOptions];
        await ready(start('../src/processes/frontend.js', { env, execArgv }));
        return `http://127.0.0.1:${port}`;
      },
      endFrontend: () => end(frontend),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The next message of a child; rejects if it ends without one. */
async function message(child: ChildProcess): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([said]: unknown[]) => said),
      once(child, 'exit', { signal }).then(([code, by]: unknown[]) => {
        throw new Error(`${child.spawnargs.at(-1)} ended: ${String(by ?? code)}`);
      }),
    ]);
  } finally {
    over.abort();
  }
}

async function ready(child: ChildProcess): Promise<ChildProcess> {
  const timer = setTimeout(() => child.kill('SIGKILL'), READY_TIMEOUT_MS);
  await message(child);
  clearTimeout(timer);
  return child;
}

/** What `direct.ts` answers to a job. */
export async function askDirect(child: ChildProcess, job: DirectJob): Promise<Outcome> {
  const answer = message(child);
  child.send(job);
  return (await answer) as Outcome;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  if (child.connected) child.disconnect();
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  await exited;
  clearTimeout(timer);
}

async function drained(redis: Redis): Promise<void> {
  const deadline = Date.now() + DRAIN_TIMEOUT_MS;
  for (;;) {
    const waiting = await Promise.all(Array.from({ length: SHARDS }, (_, shard) => backlog(redis, shard)));
    if (waiting.every((entries) => entries === 0)) return;
    if (Date.now() > deadline)
      throw new Error(`Postgres is still behind: ${waiting.join(', ')} outbox entries by shard.`);
    await sleep(20);
  }
}

/** Resolves when no job is left of what a configuration began, and Postgres has everything. */
export async function settled({ pool, drained }: Pick<Stack, 'pool' | 'drained'>): Promise<void> {
  const left = `SELECT count(*)::int AS n FROM jobs WHERE status IN ('waiting', 'running')`;
  while ((await pool.query<{ n: number }>(left)).rows[0]!.n > 0) await sleep(500);
  await drained();
}

/** CPU seconds of the worker, Redis and Postgres. */
export const cpuOfStoring = async ({ pids, redis }: Pick<Stack, 'pids' | 'redis'>): Promise<number[]> => [
  processCpu(pids.worker),
  (await redisUse(redis)).cpu,
  treeCpu(pids.postgres),
];
