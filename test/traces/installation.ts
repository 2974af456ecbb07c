import { join } from 'node:path';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { vi } from 'vitest';
import { freePort } from '../../src/local/free-ports.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { TestClient } from '../http/client.ts';
import { isClusterRun } from '../stack/own-cluster.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

const KEY = 'adm_traces.secret-secret-secret';

/** Runs `npm start` with its own Redis and Postgres, with the demo. */
export class Installation {
  readonly app: TestClient;
  readonly admin: TestClient;
  output = '';
  private readonly stack: TestStack;
  private readonly process: ChildProcess;
  private readonly exited: Promise<unknown>;

  private constructor(stack: TestStack, process: ChildProcess, ports: { app: number; admin: number }) {
    this.stack = stack;
    this.process = process;
    this.exited = once(process, 'close');
    this.app = new TestClient({
      baseUrl: `http://127.0.0.1:${ports.app}`,
      surface: 'application',
      operations: applicationOperations,
      key: KEY,
    });
    this.admin = new TestClient({
      baseUrl: `http://127.0.0.1:${ports.admin}`,
      surface: 'admin',
      operations: adminOperations,
      key: KEY,
    });
    for (const stream of [process.stdout!, process.stderr!])
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString('utf8')));
  }

  static async start(variables: NodeJS.ProcessEnv): Promise<Installation> {
    const stack = await testStack({ cluster: isClusterRun() });
    const ports = { app: await freePort(), admin: await freePort() };
    const env = {
      ...process.env,
      NODE_ENV: '',
      HOST: '127.0.0.1',
      REDIS_URL: stack.redisUrl,
      DATABASE_URL: stack.databaseUrl,
      APP_PORT: String(ports.app),
      ADMIN_PORT: String(ports.admin),
      ADMIN_API_KEY: KEY,
      ...variables,
    };
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    const started = spawn('node', [join(await inFewFiles(), 'src/main.js')], {
      cwd: PACKAGE_ROOT,
      env,
      stdio: [...stdio],
    });
    const installation = new Installation(stack, started, ports);
    await vi.waitUntil(
      () => {
        if (started.exitCode !== null) throw new Error(`It ended:\n${installation.output}`);
        return installation.output.includes('Ctrl-C ends it.');
      },
      { timeout: 120_000 },
    );
    return installation;
  }

  /** Ends it by Ctrl-C; returns its exit code. */
  async end(): Promise<number | null> {
    if (this.process.exitCode === null) this.process.kill('SIGINT');
    await this.exited;
    return this.process.exitCode;
  }

  async close(): Promise<void> {
    await this.end();
    await this.stack.close();
  }
}
