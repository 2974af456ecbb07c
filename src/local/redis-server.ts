import { Redis } from 'ioredis';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { access, chown, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../package-root.ts';
import { StartError } from '../start-error.ts';
import { freePort } from './free-ports.ts';
import {
  chooseServerUser,
  type GuardedProcess,
  serverEnvironment,
  type ServerUser,
  startGuarded,
} from './guarded-process.ts';
import type { LocalServer } from './postgres-server.ts';

export interface RedisOptions {
  program: string;
  directory: string;
  /** Null if no password is required. */
  password: string | null;
  durable: boolean;
  temporary: boolean;
}

const START_TIMEOUT_MS = 60_000;
const ATTEMPTS = 3;

export function findRedisProgram(): string | null {
  const directories = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/usr/local/bin',
    '/usr/bin',
    '/opt/homebrew/bin',
  ];
  for (const name of ['redis-server', 'valkey-server']) {
    for (const directory of directories) {
      if (directory !== '' && existsSync(join(directory, name))) return join(directory, name);
    }
  }
  return null;
}

/** Settings that Laurel requires of every Redis, as text, because the server may run as a user who cannot read our files. */
export const readRedisSettings = (): string => readFileSync(join(PACKAGE_ROOT, 'ops', 'redis.conf'), 'utf8').trimEnd();

const configurationOf = (directory: string): string => resolve(directory, 'redis.conf');

export const addressOfRedis = (password: string | null, port: number): string =>
  `redis://${password === null ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`;

/** The port of the last server that was started on a directory; `null` if there was none. */
export async function portOfRedis(directory: string): Promise<number | null> {
  const text = await readFile(configurationOf(directory), 'utf8').catch(() => '');
  return Number(/^port (\d+)$/m.exec(text)?.[1]) || null;
}

/** Starts a private Redis on a free port of the loopback interface. It ends at the latest with this process. */
export async function startRedis(options: RedisOptions): Promise<LocalServer> {
  let problem = '';
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    // A temporary directory is removed when its server exits, even if that failed to start.
    await mkdir(options.directory, { recursive: true, mode: 0o700 });
    const user = redisUser(options);
    const port = await freePort();
    const configuration = configurationOf(options.directory);
    await writeFile(configuration, settings(options, port), { mode: 0o600 });
    if (user.owner) await giveTo(user.owner, options.directory);
    const [command = options.program, ...args] = user.prefix.concat(options.program, configuration);
    const server = startGuarded({
      command,
      args,
      stopSignal: 'SIGTERM',
      as: user.prefix.length > 0 ? null : user.owner,
      env: serverEnvironment(),
      removeAfterwards: options.temporary ? options.directory : null,
    });
    const url = addressOfRedis(options.password, port);
    if (await answers(url, server, configuration))
      return { url, pid: server.pid, exited: server.exited, stop: () => server.stop() };
    await server.stop();
    problem = server.output();
  }
  throw new StartError(`The private Redis did not start. Its last output:\n${problem}`);
}

/** A user other than root, if there is one. Redis would also run as root. */
function redisUser({ directory, program }: RedisOptions): ServerUser {
  const user = chooseServerUser(directory, [program, directory]);
  return 'problem' in user ? { owner: null, prefix: [] } : user;
}

/** Changes the owner of existing data, because an earlier server may have run as root. */
async function giveTo({ uid, gid }: { uid: number; gid: number }, directory: string): Promise<void> {
  await chown(directory, uid, gid);
  for (const name of await readdir(directory, { recursive: true })) await chown(join(directory, name), uid, gid);
}

function settings(options: RedisOptions, port: number): string {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${JSON.stringify(options.directory)}`,
    'daemonize no',
    'set-proc-title no',
    readRedisSettings(),
    ...(options.durable ? [] : ['appendonly no']),
    ...(options.password === null ? [] : [`requirepass ${JSON.stringify(options.password)}`]),
  ];
  return lines.join('\n') + '\n';
}

/** Waits until the server, which has this configuration, has loaded its data and answers commands. Returns false if it exits instead. */
async function answers(url: string, server: GuardedProcess, configuration: string): Promise<boolean> {
  let ended = false;
  void server.exited.then(() => (ended = true));
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!ended && performance.now() < deadline) {
    const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      await redis.ping();
      // Another Redis may have taken the port since it was found free; then this one is about to end.
      if ((await redis.info('server')).includes(`config_file:${configuration}\r\n`)) return true;
    } catch {
      // It does not listen yet, or loads its data.
    } finally {
      redis.disconnect();
    }
    await sleep(20);
  }
  return false;
}

const run = promisify(execFile);

const CHOICES = [
  '  Debian, Ubuntu   sudo apt-get install redis-server',
  '  macOS            brew install redis',
  '  Docker           docker compose up   (all of Laurel, in containers)',
  '  an existing one  REDIS_URL=redis://host:6379 npm start',
].join('\n');

/** While this program exits with 101, installing a package starts no service. Laurel runs its own. */
const POLICY = '/usr/sbin/policy-rc.d';

/** The path of a Redis program. Installs one with apt-get if there is none, this is root, and the system has apt-get. */
export async function requireRedisProgram(say: (line: string) => void): Promise<string> {
  const program = findRedisProgram();
  if (program !== null) return program;
  if (process.getuid?.() !== 0 || !(await canRun('apt-get'))) throw missing('Laurel needs Redis, but found none.');
  say('Redis is not installed; installing it with "apt-get install redis-server".');
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

const missing = (sentence: string): StartError => new StartError(`${sentence}\nInstall or name one:\n${CHOICES}`);

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
