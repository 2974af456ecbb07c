import { fork, type ChildProcess } from 'node:child_process';
import { beforeAll } from 'vitest';
import { inFewFiles } from '../stack/in-few-files.ts';
import { messageOf } from '../stack/child-process.ts';

/** The file of such a worker. */
export const DYING_WORKER = new URL('dying-worker.mjs', import.meta.url);
const DYING_FRONTEND = new URL('dying-frontend.mjs', import.meta.url);

/** Workers of the build, each in its own process, which tests kill or which kill themselves. */
export class DyingWorkers {
  private readonly children: ChildProcess[] = [];

  /** Call this at the top of a test file. */
  constructor() {
    beforeAll(inFewFiles);
  }

  /** Starts one. `DIE_AT=<step>` with `DIE_AT_NTH=<n>`: it is killed at the nth occurrence of that step. */
  start(stack: { redisUrl: string; databaseUrl: string }, env: Record<string, string> = {}): ChildProcess {
    return this.fork(DYING_WORKER, stack, env);
  }

  /** Starts a frontend that is killed at a moment of a merge or a claim (`merge computed`). Resolves with the addresses of its ports. */
  async startFrontend(
    stack: { redisUrl: string; databaseUrl: string },
    dieAt: string,
  ): Promise<{ child: ChildProcess; appUrl: string; adminUrl: string }> {
    const child = this.fork(DYING_FRONTEND, stack, { DIE_AT: dieAt });
    const ports = await messageOf<{ appPort: number; adminPort: number }>(child);
    const urlOf = (port: number): string => `http://127.0.0.1:${port}`;
    return { child, appUrl: urlOf(ports.appPort), adminUrl: urlOf(ports.adminPort) };
  }

  private fork(file: URL, stack: { redisUrl: string; databaseUrl: string }, env: Record<string, string>): ChildProcess {
    const child = fork(file, {
      // Without the test runner's options, which load parts of it.
      execArgv: [],
      env: { ...process.env, REDIS_URL: stack.redisUrl, DATABASE_URL: stack.databaseUrl, ...env },
    });
    this.children.push(child);
    return child;
  }

  /** Has a running one be killed at the nth occurrence of a step from now on. Resolves when it knows. */
  async dieAt(worker: ChildProcess, step: string, nth: number): Promise<void> {
    // `messageOf` says if there is none any more.
    worker.send([step, nth], () => undefined);
    // One that has just started says first that it is ready.
    while ((await messageOf(worker)) !== 'dies');
  }

  /** The same under the test clock; resolves when it works. */
  async startByTestClock(stack: { redisUrl: string; databaseUrl: string }): Promise<ChildProcess> {
    const child = this.start(stack, { TEST_CLOCK: '1' });
    await messageOf(child);
    return child;
  }

  /** Ends those that live. */
  close(): void {
    for (const child of this.children) child.kill('SIGKILL');
  }
}
