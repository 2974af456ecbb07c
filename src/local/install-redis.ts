import { execFile } from 'node:child_process';
import { access, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { StartError } from '../start-error.ts';
import { findRedisProgram } from './redis-server.ts';

const run = promisify(execFile);

const CHOICES = [
  '  Debian, Ubuntu   apt-get install redis-server',
  '  macOS            brew install redis',
  '  Docker           docker compose up   (all of Laurel, in containers)',
  '  a Redis you have REDIS_URL=redis://host:6379 npm start',
].join('\n');

/** While this file answers 101, installing a package starts no service: Laurel runs its own. */
const POLICY = '/usr/sbin/policy-rc.d';

/** The path of a Redis program, installed with apt-get if there is none and this is root on a system that has it. */
export async function requireRedisProgram(say: (line: string) => void): Promise<string> {
  const found = findRedisProgram();
  if (found !== null) return found;
  if (process.getuid?.() !== 0 || !(await canRun('apt-get'))) throw missing('Laurel needs Redis and finds none.');
  say('There is no Redis here; installing it with "apt-get install redis-server".');
  try {
    await install();
  } catch (error) {
    throw missing(`Redis could not be installed with apt-get: ${firstLine(error)}`);
  }
  const installed = findRedisProgram();
  if (installed === null) throw missing('apt-get installed redis-server, but it is not on the PATH.');
  return installed;
}

async function install(): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const hadPolicy = await exists(POLICY);
  if (!hadPolicy) await writeFile(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await run('apt-get', ['update', '-qq'], { env });
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'], {
      env,
      maxBuffer: 2 ** 26,
    });
  } finally {
    if (!hadPolicy) await rm(POLICY, { force: true });
  }
}

const missing = (sentence: string): StartError => new StartError(`${sentence}\nOne of these helps:\n${CHOICES}`);

async function canRun(command: string): Promise<boolean> {
  return run(command, ['--version']).then(
    () => true,
    () => false,
  );
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

function firstLine(error: unknown): string {
  const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  return text.trim().split('\n').at(0) ?? '';
}
