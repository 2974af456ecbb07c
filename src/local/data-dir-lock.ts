/** The lock of the data directory, and servers left behind by a killed process. */
import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartError } from '../start-error.ts';

/** The longest socket path that every supported system accepts. */
const MAX_SOCKET_PATH = 100;

/**
 * Locks the data directory for this process, or throws a `StartError` if a running Laurel holds it. The lock is a socket on
 * which the holder listens, so the lock of a killed process is recognised as stale.
 */
export async function lockDataDir(dataDir: string): Promise<{ release(): Promise<void> }> {
  const path = socketPath(dataDir);
  let server = await listen(path);
  if (server === null) {
    if (await isAnswered(path)) {
      throw new StartError(
        `Laurel is already running with the data in ${dataDir}. Stop it first, or set DATA_DIR (and APP_PORT, ADMIN_PORT) for a second one.`,
      );
    }
    await rm(path, { force: true });
    server = await listen(path);
  }
  if (server === null) throw new StartError(`Another Laurel is starting with the data in ${dataDir}.`);
  const lock = server;
  lock.unref();
  return { release: () => new Promise((resolve) => lock.close(() => resolve())) };
}

/** Whether a running Laurel, or one of its commands, holds the lock. */
export const isDataDirLocked = (dataDir: string): Promise<boolean> => isAnswered(socketPath(dataDir));

function socketPath(dataDir: string): string {
  const path = join(dataDir, 'lock');
  if (path.length <= MAX_SOCKET_PATH) return path;
  return join(tmpdir(), `laurel-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}.lock`);
}

/** Returns null if the path is in use. */
function listen(path: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(new StartError(`Laurel cannot use its data directory: ${error.message}.`));
    });
    server.listen(path, () => resolve(server));
  });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => socket.destroy());
  });
}

const WAIT_MS = 15_000;

/**
 * Stops the server that a killed Laurel left running on this data, unless its guard already did, and waits until it is gone.
 * Two servers on the same files would corrupt them. Call it only while holding the lock.
 */
export async function endLeftoverServer(directory: string): Promise<void> {
  const pid = Number(await readFile(pidFile(directory), 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 1) return;
  const deadline = performance.now() + WAIT_MS;
  let asked = false;
  while (await isServerOf(pid, directory)) {
    const late = performance.now() > deadline;
    if (late || !asked) process.kill(pid, late ? 'SIGKILL' : 'SIGINT');
    asked = true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await rm(pidFile(directory), { force: true });
}

/** Records the server's process ID, so that the next start finds it if this process is killed. */
export async function noteServer(directory: string, pid: number): Promise<void> {
  await writeFile(pidFile(directory), String(pid));
}

const pidFile = (directory: string): string => `${directory}.pid`;

/** Checks that the process's command names the directory, because another process may have the ID by now. */
async function isServerOf(pid: number, directory: string): Promise<boolean> {
  const command = await readFile(join('/proc', String(pid), 'cmdline'), 'utf8').catch(() => '');
  return command.includes(directory);
}
