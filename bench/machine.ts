import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { PACKAGE_ROOT } from '../src/package-root.ts';

export interface Machine {
  cpu: string;
  cores: number;
  memoryGiB: number;
  node: string;
  redis: string;
  postgres: string;
  commit: string;
  appendfsync: string;
}

/** The machine and versions of the figures. */
export async function machineOf(redis: Redis, pool: Pool): Promise<Machine> {
  const { rows } = await pool.query<{ server_version: string }>('SHOW server_version');
  const setting = async (name: string): Promise<string> => ((await redis.config('GET', name)) as string[])[1] ?? '?';
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    redis: /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? '?',
    postgres: rows[0]?.server_version ?? '?',
    commit: commit(),
    appendfsync: (await setting('appendonly')) === 'yes' ? await setting('appendfsync') : 'off',
  };
}

/** `-changed`: the measured code has uncommitted edits. */
function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: PACKAGE_ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'workers', 'lua') !== '';
    return git('rev-parse', '--short', 'HEAD') + (changed ? '-changed' : '');
  } catch {
    return 'unknown';
  }
}
