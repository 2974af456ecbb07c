import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../../src/package-root.ts';
import { NODE_OPTIONS } from '../../../src/processes/first-start.ts';
import { endChild, messageOf } from '../../stack/child-process.ts';

export interface Servers {
  redisUrl: string;
  databaseUrl: string;
}

/**
 * Starts a process of the built code as `npm start` does, with the same options of Node. Resolves when it is ready. `options`: further
 * options of Node.
 */
export async function builtProcess(
  file: string,
  { redisUrl, databaseUrl }: Servers,
  { variables = {}, options = [] }: { variables?: Record<string, string>; options?: readonly string[] } = {},
): Promise<ChildProcess> {
  const child = fork(join(PACKAGE_ROOT, 'dist', file), {
    env: {
      PATH: process.env['PATH'],
      REDIS_URL: redisUrl,
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: 'error',
      ...variables,
    },
    execArgv: [...NODE_OPTIONS, ...options],
  });
  await messageOf(child);
  return child;
}

/** A worker in its own process. */
export async function builtWorker(servers: Servers): Promise<{ close(): Promise<void> }> {
  const child = await builtProcess('workers/main.js', servers);
  return {
    close: async () => {
      await endChild(child, 'SIGTERM');
    },
  };
}
