import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { vi } from 'vitest';
import { freePort } from '../../src/local/free-ports.ts';
import { type LocalServer, startPostgres } from '../../src/local/postgres-server.ts';
import { findRedisProgram, startRedis } from '../../src/local/redis-server.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';

export interface Secrets {
  redisPassword: string;
  postgresPassword: string;
  adminKey: string;
}

/**
 * The built Laurel with password-protected servers of its own. Keeps everything that it prints. The caller causes the
 * faults.
 */
export class RunWithFaults {
  output = '';
  redis!: Redis;
  postgres!: pg.Pool;
  postgresProxy!: CuttingProxy;
  app = '';
  admin = '';
  private readonly secrets: Secrets;
  private folder = '';
  private servers: LocalServer[] = [];
  private laurel: ChildProcess | null = null;
  private environment: NodeJS.ProcessEnv = {};

  constructor(secrets: Secrets) {
    this.secrets = secrets;
  }

  async start(): Promise<void> {
    const { redisPassword, postgresPassword, adminKey } = this.secrets;
    this.folder = await mkdtemp(join(DATA_FOLDER, 'laurel-test-abuse-'));
    const program = findRedisProgram();
    if (program === null) throw new Error('This needs redis-server or valkey-server on the PATH.');
    const common = { temporary: true };
    const redis = await startRedis({
      ...common,
      program,
      directory: join(this.folder, 'redis'),
      password: redisPassword,
      durable: false,
    });
    this.servers.push(redis);
    const postgres = await startPostgres({
      ...common,
      directory: join(this.folder, 'postgres'),
      password: postgresPassword,
    });
    this.servers.push(postgres);
    this.redis = new Redis(redis.url);
    // The faults may also cut the test's own connection.
    this.redis.on('error', () => undefined);
    this.postgres = new pg.Pool({ connectionString: postgres.url, max: 1 });
    this.postgres.on('error', () => undefined);
    this.postgresProxy = new CuttingProxy(postgres.url);
    const [appPort, adminPort] = [await freePort(), await freePort()];
    this.app = `http://127.0.0.1:${appPort}`;
    this.admin = `http://127.0.0.1:${adminPort}`;
    this.environment = {
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      APP_PORT: String(appPort),
      ADMIN_PORT: String(adminPort),
      LOG_LEVEL: 'trace',
      REDIS_URL: redis.url,
      DATABASE_URL: await this.postgresProxy.listen(),
      ADMIN_API_KEY: adminKey,
    };
    this.laurel = this.run([join(await inFewFiles(), 'src/main.js')]);
    await vi.waitUntil(
      () => {
        if (this.laurel?.exitCode !== null) throw new Error(`It ended:\n${this.output}`);
        return this.output.includes('Ctrl-C ends it.');
      },
      { timeout: 120_000 },
    );
  }

  /** Runs a built file against the same servers; resolves with its exit code. */
  async command(args: readonly string[]): Promise<number | null> {
    const child = this.run(args);
    await once(child, 'close');
    return child.exitCode;
  }

  async call(url: string, body?: unknown, more: { method?: string; key?: string } = {}): Promise<number> {
    const response = await fetch(url, {
      method: more.method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { 'X-API-KEY': more.key ?? this.secrets.adminKey, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    await response.text();
    return response.status;
  }

  /** Stops Laurel gracefully, then its servers. */
  async stop(): Promise<void> {
    const { laurel } = this;
    // Its output is complete when its streams are closed.
    if (laurel !== null && laurel.exitCode === null && laurel.signalCode === null) {
      laurel.kill('SIGTERM');
      await once(laurel, 'close');
    }
    this.laurel = null;
  }

  async close(): Promise<void> {
    await this.stop();
    this.postgresProxy.close();
    this.redis.disconnect();
    await this.postgres.end();
    for (const server of this.servers) await server.stop();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }

  private run(args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, args, {
      cwd: PACKAGE_ROOT,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString('utf8')));
    return child;
  }
}
