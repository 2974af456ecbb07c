import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../src/local/free-ports.ts';
import { type LocalServer, startPostgres } from '../../src/local/postgres-server.ts';
import { findRedisProgram, startRedis } from '../../src/local/redis-server.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { RedisCluster, type Arrangement } from './cluster/redis-cluster.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';
import { HttpClient } from './http.ts';
import { childrenOf, eventually, signal } from './processes.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';
import { endChild } from '../stack/child-process.ts';

export const API_KEY = 'chaos.0123456789abcdef0123456789abcdef';

/** A target of faults. */
export type Part = 'frontend' | 'worker' | 'redis' | 'postgres';

/** An entry's position in the outbox. */
export interface EntryPosition {
  shard: number;
  position: string;
}

/**
 * Laurel as in production: the built supervisor with two frontends and a worker, Redis (or a cluster) and Postgres with
 * every answer on disk. Proxies between them can cut a call.
 */
export class ChaosStack {
  readonly appPort: number;
  readonly adminPort: number;
  readonly postgresProxy: CuttingProxy;
  /** Damaged entries that a fault added to the outbox. */
  readonly planted: EntryPosition[] = [];
  private readonly folder: string;
  private readonly servers: { redis: LocalServer | RedisCluster; postgres: LocalServer };
  private readonly oneRedisProxy: CuttingProxy | null;
  private supervisor: ChildProcess | null = null;

  private constructor(parts: {
    ports: [number, number];
    folder: string;
    servers: { redis: LocalServer | RedisCluster; postgres: LocalServer };
  }) {
    [this.appPort, this.adminPort] = parts.ports;
    this.folder = parts.folder;
    this.servers = parts.servers;
    const { redis } = parts.servers;
    this.oneRedisProxy = redis instanceof RedisCluster ? null : new CuttingProxy(redis.url);
    this.postgresProxy = new CuttingProxy(parts.servers.postgres.url);
  }

  /**
   * Starts it. `variables`: added to the environment; `arrangement`: of a cluster instead of one Redis; `main`: the file to
   * run. It ends with this process at the latest.
   */
  static async start(
    variables: NodeJS.ProcessEnv = {},
    { arrangement = null, main = 'dist/src/main.js' }: { arrangement?: Arrangement | null; main?: string } = {},
  ): Promise<ChaosStack> {
    const folder = await mkdtemp(join(DATA_FOLDER, 'laurel-chaos-'));
    const [redis, postgres] = await Promise.all([
      arrangement === null ? startChaosRedis(folder) : RedisCluster.start(folder, arrangement),
      startChaosPostgres(folder),
    ]);
    const ports: [number, number] = [await freePort(), await freePort()];
    const stack = new ChaosStack({ ports, folder, servers: { redis, postgres } });
    try {
      await stack.startLaurel(main, variables);
      return stack;
    } catch (error) {
      await stack.stop();
      throw error;
    }
  }

  /** Before the only Redis. */
  get redisProxy(): CuttingProxy {
    if (this.oneRedisProxy === null) throw new Error('This stack has a cluster.');
    return this.oneRedisProxy;
  }

  get redisCluster(): RedisCluster {
    const { redis } = this.servers;
    if (!(redis instanceof RedisCluster)) throw new Error('This stack has one Redis.');
    return redis;
  }

  /** Directly to the servers, past the proxies that cut calls. */
  get redisUrl(): string {
    return this.servers.redis.url;
  }

  get databaseUrl(): string {
    return this.servers.postgres.url;
  }

  /** The log of its processes. */
  get logFile(): string {
    return join(this.folder, 'laurel.log');
  }

  /** The processes of a part, including those of a Postgres server. */
  pids(part: Part): number[] {
    if (part === 'redis') return this.servers.redis instanceof RedisCluster ? [] : [this.servers.redis.pid];
    if (part === 'postgres') return [this.servers.postgres.pid, ...childrenOf(this.servers.postgres.pid)];
    return childrenOf(this.supervisor?.pid ?? -1, part === 'worker' ? 'workers/main.js' : 'src/processes/frontend.js');
  }

  /** Restarts a killed server with its data. The supervisor restarts a killed process of Laurel. */
  async startAgain(part: 'redis' | 'postgres'): Promise<void> {
    const server = this.servers[part];
    if (server instanceof RedisCluster) throw new Error('This stack has a cluster.');
    await server.exited;
    const start = part === 'redis' ? startChaosRedis : startChaosPostgres;
    const again = await start(this.folder);
    this.servers[part] = again;
    (part === 'redis' ? this.redisProxy : this.postgresProxy).retarget(again.url);
  }

  /** The supervisor's process; SIGTERM ends all of Laurel. */
  get laurel(): ChildProcess {
    return this.supervisor!;
  }

  async stop(): Promise<void> {
    for (const part of ['frontend', 'worker', 'redis', 'postgres'] as const) signal(this.pids(part), 'SIGCONT');
    const { supervisor } = this;
    if (supervisor !== null) {
      const timer = setTimeout(() => supervisor.kill('SIGKILL'), 40_000);
      await endChild(supervisor, 'SIGTERM');
      clearTimeout(timer);
    }
    this.oneRedisProxy?.close();
    this.postgresProxy.close();
    const { redis, postgres } = this.servers;
    await Promise.all([redis instanceof RedisCluster ? redis.close() : redis.stop(), postgres.stop()]);
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }

  private async startLaurel(main: string, variables: NodeJS.ProcessEnv): Promise<void> {
    const supervisor = spawn(process.execPath, ['--enable-source-maps', main], {
      cwd: PACKAGE_ROOT,
      env: {
        PATH: process.env['PATH'],
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        APP_PORT: String(this.appPort),
        ADMIN_PORT: String(this.adminPort),
        REDIS_URL: (await this.oneRedisProxy?.listen()) ?? this.redisUrl,
        DATABASE_URL: await this.postgresProxy.listen(),
        ADMIN_API_KEY: API_KEY,
        HTTP_PROCESSES: '2',
        IDEMPOTENCY_KEYS_PER_DAY: '0',
        ...variables,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.supervisor = supervisor;
    const log = createWriteStream(this.logFile);
    let output = '';
    for (const stream of [supervisor.stdout, supervisor.stderr]) {
      stream.pipe(log);
      stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString('utf8')).slice(-4000)));
    }
    await eventually('Laurel starts', () => {
      if (supervisor.exitCode !== null) throw new Error(`Laurel did not start:\n${output}`);
      return output.includes('Ctrl-C ends it.');
    });
    // A start waits only 2 s for its servers, which may be too short on a busy machine.
    const app = new HttpClient(this.appPort, API_KEY);
    await eventually('every frontend is ready', async () => {
      const replies = await app.fromAll(() => app.send('GET', '/readyz')).catch(() => []);
      return replies.length > 0 && replies.every(({ status }) => status === 200);
    }).finally(() => app.close());
  }
}

function startChaosRedis(folder: string): Promise<LocalServer> {
  const program = findRedisProgram();
  if (program === null) throw new Error('This needs redis-server or valkey-server on the PATH.');
  return startRedis({ program, directory: join(folder, 'redis'), password: null, durable: true, temporary: false });
}

/** The backends of a killed Postgres keep its shared memory for a moment, in which a new server cannot start. */
async function startChaosPostgres(folder: string): Promise<LocalServer> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      return await startPostgres({ directory: join(folder, 'postgres'), password: 'chaos', temporary: false });
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
