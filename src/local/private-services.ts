import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Env } from '../settings/env.ts';
import { StartError } from '../start-error.ts';
import { endLeftoverServer, isDataDirLocked, lockDataDir, noteServer } from './data-dir-lock.ts';
import { addressOfRedis, portOfRedis, requireRedisProgram, startRedis } from './redis-server.ts';
import { addressOfPostgres, type LocalServer, portOfRunning, startPostgres } from './postgres-server.ts';

export interface Servers {
  redisUrl: string;
  databaseUrl: string;
  /** Names of the private servers, for a message. */
  private: readonly string[];
  /** Resolves with a sentence when a private server exits unexpectedly. */
  failed: Promise<string>;
  stop(): Promise<void>;
}

/** The servers that the environment names, and private ones for the others. Throws a `StartError`. */
export async function startServers(env: Env, say: (line: string) => void): Promise<Servers> {
  if (env.redisUrl !== null && env.databaseUrl !== null) {
    const never = new Promise<string>(() => undefined);
    return {
      redisUrl: env.redisUrl,
      databaseUrl: env.databaseUrl,
      private: [],
      failed: never,
      stop: async () => undefined,
    };
  }
  await makeDataDir(env.dataDir);
  const lock = await lockDataDir(env.dataDir);
  const running: { name: string; directory: string; server: LocalServer }[] = [];
  let stopping = false;
  const stop = async (): Promise<void> => {
    stopping = true;
    for (const { server, directory } of running.toReversed()) {
      await server.stop();
      await rm(`${directory}.pid`, { force: true });
    }
    await lock.release();
  };

  try {
    const password = await readOrMakePassword(env.dataDir);
    const start = async (name: string, make: (directory: string) => Promise<LocalServer>): Promise<string> => {
      const directory = join(env.dataDir, name);
      await endLeftoverServer(directory);
      const server = await make(directory);
      running.push({ name, directory, server });
      await noteServer(directory, server.pid);
      return server.url;
    };
    const redisUrl =
      env.redisUrl ??
      (await start('redis', async (directory) => {
        const program = await requireRedisProgram(say);
        return startRedis({ program, directory, password, durable: true, temporary: false });
      }));
    const databaseUrl =
      env.databaseUrl ??
      (await start('postgres', (directory) => startPostgres({ directory, password, temporary: false })));

    const failed = Promise.race(
      running.map(async ({ name, server }) => {
        const { code, signal } = await server.exited;
        if (stopping) return new Promise<string>(() => undefined);
        return `The private ${name} server exited unexpectedly (${signal ?? `exit code ${code}`}).`;
      }),
    );
    return { redisUrl, databaseUrl, private: running.map(({ name }) => name), failed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The servers for a command: as `startServers`, but beside a running Laurel its private ones, which `stop` leaves running. */
export async function joinServers(
  env: Env,
  say: (line: string) => void,
): Promise<Pick<Servers, 'redisUrl' | 'databaseUrl' | 'stop'>> {
  if (await isDataDirLocked(env.dataDir)) {
    const redisUrl = env.redisUrl ?? (await privateRedis(env.dataDir));
    const databaseUrl = env.databaseUrl ?? (await privatePostgres(env.dataDir));
    if (redisUrl !== null && databaseUrl !== null) return { redisUrl, databaseUrl, stop: async () => undefined };
  }
  return startServers(env, say);
}

/** The address of the private Postgres of a running Laurel; `null` if none runs with this data. */
export async function privatePostgres(dataDir: string): Promise<string | null> {
  const port = await portOfRunning(join(dataDir, 'postgres'));
  const password = await readPassword(dataDir);
  return port === null || password === '' ? null : addressOfPostgres(password, port);
}

/** The same of Redis. The port is that of the last start, so ask only while a Laurel runs. */
async function privateRedis(dataDir: string): Promise<string | null> {
  const port = await portOfRedis(join(dataDir, 'redis'));
  return port === null ? null : addressOfRedis(await readPassword(dataDir), port);
}

async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await makeDirectories(dataDir);
  } catch (error) {
    throw new StartError(`The data directory ${dataDir} (DATA_DIR) cannot be created: ${(error as Error).message}.`);
  }
}

/** Node's recursive `mkdir` never returns if an existing directory allows no subdirectories, such as /proc. */
async function makeDirectories(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o755 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw error;
    await makeDirectories(dirname(path));
    await mkdir(path, { mode: 0o755 });
  }
}

/** The password of both private servers. It keeps other users of the machine from reading their data through the ports. */
async function readOrMakePassword(dataDir: string): Promise<string> {
  const existing = await readPassword(dataDir);
  if (existing !== '') return existing;
  const password = randomBytes(24).toString('base64url');
  await writeFile(passwordFile(dataDir), password, { mode: 0o600 });
  return password;
}

const passwordFile = (dataDir: string): string => join(dataDir, 'password');

/** '' if there is none yet. */
const readPassword = async (dataDir: string): Promise<string> =>
  (await readFile(passwordFile(dataDir), 'utf8').catch(() => '')).trim();
