import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { vi } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

/** The built code of `npm start`, in its own process. */
export class Start {
  readonly process: ChildProcess;
  output = '';
  private readonly exited: Promise<unknown>;

  constructor(variables: NodeJS.ProcessEnv, command = ['node', 'dist/src/main.js']) {
    const env: NodeJS.ProcessEnv = { ...process.env, HOST: '127.0.0.1', ...variables };
    for (const name of ['REDIS_URL', 'DATABASE_URL', 'NODE_ENV']) env[name] = variables[name];
    const [file = '', ...args] = command;
    this.process = spawn(file, args, { cwd: PACKAGE_ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString('utf8')));
    }
    this.exited = once(this.process, 'close');
  }

  async running(): Promise<void> {
    await vi.waitUntil(
      () => {
        if (this.process.exitCode !== null) throw new Error(`It ended:\n${this.output}`);
        return this.output.includes('Ctrl-C ends it.');
      },
      { timeout: 120_000 },
    );
  }

  /** Its exit code, once it is gone. */
  async end(signal?: NodeJS.Signals): Promise<number | null> {
    if (signal !== undefined) this.process.kill(signal);
    await this.exited;
    return this.process.exitCode;
  }
}
