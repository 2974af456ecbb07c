import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort } from '../../../src/local/free-ports.ts';
import { PACKAGE_ROOT } from '../../../src/package-root.ts';
import { endChild } from '../../stack/child-process.ts';
import { builtProcess, type Servers } from './built-processes.ts';

/** A frontend in its own process (the built code) whose event loop is measured. */
export interface WatchedFrontend {
  appUrl: string;
  adminUrl: string;
  /** Runs `work`; returns the longest stretch of the event loop meanwhile, in ms of CPU. */
  longestStretch(work: () => Promise<unknown>): Promise<number>;
  /** Time to parse a fixed text of 900 KB in that process, in ms of CPU. */
  calibrate(): Promise<number>;
  /** Throws if the process has exited. */
  alive(): void;
  close(): Promise<void>;
}

export async function watchedFrontend(servers: Servers): Promise<WatchedFrontend> {
  const [app, admin] = [await freePort(), await freePort()];
  const watch = pathToFileURL(join(PACKAGE_ROOT, 'test/abuse/costliest/loop-watch.mjs')).href;
  const child = await builtProcess('src/processes/frontend.js', servers, {
    variables: { HOST: '127.0.0.1', APP_PORT: String(app), ADMIN_PORT: String(admin) },
    options: ['--import', watch],
  });
  return {
    appUrl: `http://127.0.0.1:${app}`,
    adminUrl: `http://127.0.0.1:${admin}`,
    longestStretch: async (work) => {
      await ask(child, 'reset');
      await work();
      return ask(child, 'report');
    },
    calibrate: () => ask(child, 'calibrate'),
    alive: () => {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`The frontend ended: ${String(child.signalCode ?? child.exitCode)}`);
    },
    close: async () => {
      await endChild(child, 'SIGTERM');
    },
  };
}

/** Asks the watch in the process. Other messages are the frontend's own, which a supervisor would answer. */
async function ask(child: ChildProcess, what: 'reset' | 'report' | 'calibrate'): Promise<number> {
  const answered = new Promise<number>((resolve) => {
    const take = (message: unknown): void => {
      if (typeof message !== 'object' || message === null || !('loopWatch' in message)) return;
      child.off('message', take);
      resolve(Number(message.loopWatch));
    };
    child.on('message', take);
  });
  child.send(`loop-watch: ${what}`);
  return answered;
}
