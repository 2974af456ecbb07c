import { existsSync, readFileSync } from 'node:fs';
import { chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { Redis } from 'ioredis';
import { PACKAGE_ROOT } from '../package-root.ts';
import { freePort } from './free-port.ts';
import { startGuarded, type GuardedProcess } from './guarded-process.ts';
import type { LocalServer } from './postgres-server.ts';
import { serverEnvironment } from './server-environment.ts';
import { chooseServerUser, type ServerUser } from './server-user.ts';
import { StartError } from '../start-error.ts';

export interface RedisOptions {
  /** The program, see `findRedisProgram`. */
  program: string;
  /** Where the data is or will be. */
  directory: string;
  /** Null: none is asked for. */
  password: string | null;
  /** True: every write is on disk before it is answered. */
  durable: boolean;
  /** The directory is removed at the end. */
  temporary: boolean;
}

const START_TIMEOUT_MS = 60_000;
const ATTEMPTS = 3;

/** The path of `redis-server` or `valkey-server`, or null. */
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

/** What Laurel asks of every Redis, as lines of a configuration file. Text, since the server may run as a user who cannot read ours. */
export const readRedisSettings = (): string => readFileSync(join(PACKAGE_ROOT, 'ops', 'redis.conf'), 'utf8').trimEnd();

/** Starts a private Redis on a free port of the loopback interface; it ends with this process at the latest. */
export async function startRedis(options: RedisOptions): Promise<LocalServer> {
  let problem = '';
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    // A temporary directory is removed when a server that uses it ends, also when it failed to start.
    await mkdir(options.directory, { recursive: true, mode: 0o700 });
    const user = redisUser(options);
    const port = await freePort();
    const configuration = join(options.directory, 'redis.conf');
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
    const login = options.password === null ? '' : `:${encodeURIComponent(options.password)}@`;
    const url = `redis://${login}127.0.0.1:${port}`;
    if (await answers(url, server)) return { url, pid: server.pid, exited: server.exited, stop: () => server.stop() };
    await server.stop();
    problem = server.output();
  }
  throw new StartError(`The private Redis did not start. Its last words:\n${problem}`);
}

/** Somebody else than root where this machine has such a user; Redis would take root as well. */
function redisUser({ directory, program }: RedisOptions): ServerUser {
  const user = chooseServerUser(directory, [program, directory]);
  return 'problem' in user ? { owner: null, prefix: [] } : user;
}

/** The data may be from a time when the server ran as root. */
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

/** Waits until the server has its data and takes commands; false if it ended instead. */
async function answers(url: string, server: GuardedProcess): Promise<boolean> {
  let ended = false;
  void server.exited.then(() => (ended = true));
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!ended && Date.now() < deadline) {
    const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      await redis.ping();
      return true;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      redis.disconnect();
    }
  }
  return false;
}
