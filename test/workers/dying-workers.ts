import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll } from 'vitest';
import { build } from 'vite';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

const WORKER = new URL('dying-worker.mjs', import.meta.url);
const BUILT = join(PACKAGE_ROOT, 'dist/workers/start.js');
/** A build removes it, as all of `dist`. */
const IN_ONE_FILE = join(PACKAGE_ROOT, 'dist/workers-in-one-file');

/** Workers as they are built, each in a process of its own, which tests kill or which kill themselves. */
export class DyingWorkers {
  private readonly children: ChildProcess[] = [];

  /** To be called at the top of a test file. */
  constructor() {
    beforeAll(bundle);
  }

  /** Starts one. `DIE_AT=<step>` with `DIE_AT_NTH=<n>`: it is killed at the nth time of that step. */
  start(stack: { redisUrl: string; databaseUrl: string }, env: Record<string, string> = {}): ChildProcess {
    const child = fork(WORKER, {
      // Not the test runner's, which load parts of it.
      execArgv: [],
      env: { ...process.env, REDIS_URL: stack.redisUrl, DATABASE_URL: stack.databaseUrl, ...env },
    });
    this.children.push(child);
    return child;
  }

  /** The same under the test clock; resolves when it works. */
  async startByTestClock(stack: { redisUrl: string; databaseUrl: string }): Promise<ChildProcess> {
    const child = this.start(stack, { TEST_CLOCK: '1' });
    await once(child, 'message');
    return child;
  }

  /** Ends those that live. */
  close(): void {
    for (const child of this.children) child.kill('SIGKILL');
  }
}

/**
 * Puts the built worker and its packages into one file: a run starts some 90 of them, and to load 1,500 files took each 0.9 s of CPU
 * instead of 0.3.
 */
async function bundle(): Promise<void> {
  if (!existsSync(BUILT)) throw new Error('This test runs the built worker: npm run build');
  if (existsSync(IN_ONE_FILE)) return;
  const outDir = `${IN_ONE_FILE}.${process.pid}`;
  await build({
    configFile: false,
    logLevel: 'warn',
    root: PACKAGE_ROOT,
    build: { ssr: BUILT, outDir, target: 'node20' },
    ssr: { noExternal: true },
  });
  try {
    await rename(outDir, IN_ONE_FILE);
  } catch (error) {
    // Another test file was first.
    if (!existsSync(IN_ONE_FILE)) throw error;
    await rm(outDir, { recursive: true });
  }
}
