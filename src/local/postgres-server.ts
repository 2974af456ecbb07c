import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { answersInTime } from './answers-in-time.ts';
import { freePort } from './free-port.ts';
import { startGuarded, type GuardedProcess } from './guarded-process.ts';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { serverEnvironment } from './server-environment.ts';
import { chooseServerUser, type ServerUser } from './server-user.ts';
import { StartError } from '../start-error.ts';

export interface LocalServer {
  url: string;
  pid: number;
  /** Settles when the server is gone, by whatever cause. */
  exited: GuardedProcess['exited'];
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Where the data is or will be; created with its first cluster if missing. */
  directory: string;
  /** Of the superuser `laurel`. It stays the one that the cluster was made with. */
  password: string;
  /** Temporary: no fsync (a crash of the machine loses all), and the directory is removed at the end. */
  temporary: boolean;
  /** How long it may give no sign of life at its start; a minute if left out. Reading its WAL after a crash may take longer. */
  silenceMs?: number;
}

const USER = 'laurel';
const SILENCE_MS = 60_000;
const ATTEMPTS = 3;

/**
 * The built-in server knows pglz only, which costs an event 45 µs of CPU right after a checkpoint, when each page that is
 * changed goes into the WAL whole; for that it spares half of those 5 KB (`npm run bench -- persist`). lz4 spares as much for 4 µs.
 */
const WAL_COMPRESSION = 'wal_compression=off';

/**
 * Rare checkpoints: after each, every page that is changed goes into the WAL whole once more. Under load one comes every
 * `max_wal_size` ÷ 1.9. The compose files say the same.
 */
export const CHECKPOINTS = ['max_wal_size=4GB', 'checkpoint_timeout=15min'];

const MIB = 2 ** 20;

/**
 * An eighth of the memory that the server may use, from Postgres's own 128 MiB up to 512 MiB: with 400,000 users and a million events, an
 * event cost Postgres 32 µs of CPU with 128 MiB and 26 with 512, as fewer pages are fetched from the system's cache.
 */
export function sharedBuffersMiB(memoryBytes: number): number {
  return Math.max(128, Math.min(512, Math.floor(memoryBytes / 8 / MIB)));
}

/** What the machine has, or what a container of it is allowed. */
const memoryBytes = (): number => Math.min(totalmem(), process.constrainedMemory() || Infinity);

/** Starts a private Postgres on a free port of the loopback interface; it ends with this process at the latest. */
export async function startPostgres(options: PostgresOptions): Promise<LocalServer> {
  const binaries = await findPostgresBinaries();
  const user = postgresUser(options.directory, binaries);
  await createCluster({ binaries, user, options });

  let problem = '';
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = await freePort();
    const [command = '', ...args] = [
      ...user.prefix,
      binaries.postgres,
      '-D',
      options.directory,
      ...settings(options, port),
    ];
    const server = startGuarded({
      command,
      args,
      stopSignal: 'SIGINT',
      as: user.prefix.length > 0 ? null : user.owner,
      env: serverEnvironment(),
      removeAfterwards: options.temporary ? options.directory : null,
    });
    const url = `postgres://${USER}:${encodeURIComponent(options.password)}@127.0.0.1:${port}/postgres`;
    if (await answersInTime(url, { server, silenceMs: options.silenceMs ?? SILENCE_MS }))
      return { url, pid: server.pid, exited: server.exited, stop: () => server.stop() };
    await server.stop();
    problem = server.output();
  }
  throw new StartError(`The built-in Postgres did not start. Its last words:\n${problem}`);
}

function postgresUser(directory: string, binaries: PostgresBinaries): ServerUser {
  const user = chooseServerUser(directory, [binaries.postgres, directory]);
  if ('problem' in user) {
    throw new StartError(
      `Postgres does not run as root, and ${user.problem}. ` +
        'Start Laurel as another user or from another directory, or set DATABASE_URL.',
    );
  }
  return user;
}

function settings(options: PostgresOptions, port: number): string[] {
  const values = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `port=${port}`,
    // Test files that run at the same time share a temporary one; a whole Laurel of a test wants up to 29.
    `max_connections=${options.temporary ? 400 : 100}`,
    'timezone=UTC',
    ...(options.temporary
      ? ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off', 'shared_buffers=32MB']
      : [...CHECKPOINTS, `shared_buffers=${sharedBuffersMiB(memoryBytes())}MB`, WAL_COMPRESSION]),
  ];
  return values.flatMap((value) => ['-c', value]);
}

async function createCluster({
  binaries,
  user,
  options,
}: {
  binaries: PostgresBinaries;
  user: ServerUser;
  options: PostgresOptions;
}): Promise<void> {
  const { directory } = options;
  if (existsSync(join(directory, 'laurel-ready'))) return;
  // A directory without the mark is what an interrupted first start left behind.
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const passwordFile = join(dirname(directory), `postgres-password-${randomUUID()}`);
  await writeFile(passwordFile, options.password + '\n', { mode: 0o600, flag: 'wx' });
  if (user.owner) {
    await chown(directory, user.owner.uid, user.owner.gid);
    await chown(passwordFile, user.owner.uid, user.owner.gid);
  }
  await chmod(directory, 0o700);
  try {
    const [command = '', ...args] = [
      ...user.prefix,
      binaries.initdb,
      `--pgdata=${directory}`,
      `--username=${USER}`,
      '--auth=scram-sha-256',
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--locale=C',
      ...(options.temporary ? ['--no-sync'] : []),
    ];
    const as = user.prefix.length > 0 ? null : user.owner;
    await promisify(execFile)(command, args, { cwd: '/', env: serverEnvironment(), ...as });
  } catch (error) {
    const detail = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
    throw new StartError(`The built-in Postgres could not create its data in ${directory}: ${detail.trim()}`);
  } finally {
    await rm(passwordFile, { force: true });
  }
  await writeFile(join(directory, 'laurel-ready'), '');
}
