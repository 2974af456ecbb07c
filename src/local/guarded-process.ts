import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Writable } from 'node:stream';

export interface GuardedProcess {
  pid: number;
  /** The last lines of its output, for an error message. */
  output(): string;
  /** Settles when the process has exited, for whatever reason. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Asks the process to end and waits. Kills it after `timeoutMs`. Safe to call twice. */
  stop(timeoutMs?: number): Promise<void>;
}

interface GuardedCommand {
  command: string;
  args: readonly string[];
  stopSignal: 'SIGINT' | 'SIGTERM' | 'SIGQUIT';
  /** The user to run as; requires root. */
  as: { uid: number; gid: number } | null;
  env: NodeJS.ProcessEnv;
  /** A directory to remove after the process has exited, for whatever reason. */
  removeAfterwards: string | null;
}

/**
 * The guard reads from a pipe that this process holds. If the pipe closes without a message, this process has died (even by
 * kill -9), and the guard stops the server, after 20 s by force. The server itself keeps the shell's process ID.
 */
const GUARD = `
signal=$1; remove=$2; shift 2
( (
  read -r word <&3 || kill -s "$signal" $$ 2>/dev/null
  tries=0
  while kill -0 $$ 2>/dev/null && [ $tries -lt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -s KILL $$ 2>/dev/null
  if [ -n "$remove" ]; then rm -rf -- "$remove"; fi
) >/dev/null 2>&1 & )
exec "$@" 3<&-
`;

const KEPT_OUTPUT = 4000;
const STOP_TIMEOUT_MS = 20_000;

/**
 * Starts a server that never outlives this process. It runs in its own session, so Ctrl-C in the terminal reaches only this
 * process, which stops the server when it no longer needs it.
 */
export function startGuarded(command: GuardedCommand): GuardedProcess {
  const child = spawn(
    '/bin/sh',
    [
      '-c',
      GUARD,
      'guard',
      command.stopSignal.slice(3),
      command.removeAfterwards ?? '',
      command.command,
      ...command.args,
    ],
    { cwd: '/', detached: true, env: command.env, stdio: ['ignore', 'pipe', 'pipe', 'pipe'], ...command.as },
  );
  const guard = child.stdio[3] as Writable;
  guard.on('error', () => undefined);

  let kept = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      kept = (kept + chunk.toString('utf8')).slice(-KEPT_OUTPUT);
    });
  }

  const exited = exitOf(child).then((end) => {
    guard.end('ended\n');
    return end;
  });

  return {
    pid: child.pid ?? -1,
    output: () => kept.trim(),
    exited,
    stop: async (timeoutMs = STOP_TIMEOUT_MS) => {
      child.kill(command.stopSignal);
      const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

function exitOf(child: ChildProcess): GuardedProcess['exited'] {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: -1, signal: null }));
  });
}

/** Environment variables that a server may need: for programs, libraries, temporary files and time zones. */
const NEEDED = ['PATH', 'LD_LIBRARY_PATH', 'LD_PRELOAD', 'TMPDIR', 'TZDIR'] as const;

/**
 * The environment of a private server. Contains nothing else of this process's environment, because keys and passwords in it
 * would be readable while the server runs by everybody who may inspect the process.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const needed = NEEDED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { ...Object.fromEntries(needed), LC_ALL: 'C' };
}

/** The user that runs a server if this process is root: Postgres refuses to run as root, and Redis does not need it. */
export interface ServerUser {
  /** Owner of the data; null for this process's own user. */
  owner: { uid: number; gid: number } | null;
  /** Words before the command, if the user must pass through directories that are closed to it. */
  prefix: readonly string[];
}

/** Why no user other than root can run a server here. */
interface NoServerUser {
  problem: string;
}

/**
 * Chooses the user that runs a private server: this process's user or, if that is root, the owner of the data, otherwise
 * `postgres` if it exists, otherwise `nobody`.
 * @param paths programs and data that the user must be able to reach
 */
export function chooseServerUser(dataDir: string, paths: readonly string[]): ServerUser | NoServerUser {
  if (process.getuid?.() !== 0) return { owner: null, prefix: [] };
  const owner = ownerOf(dataDir) ?? accountOf('postgres') ?? accountOf('nobody');
  if (owner === null) return { problem: 'this machine has neither a user "postgres" nor "nobody"' };
  const closed = paths.find((path) => !isReachable(path));
  if (closed === undefined) return { owner, prefix: [] };
  if (!existsSync('/usr/bin/setpriv')) return { problem: `no other user may enter ${closed}` };
  // Keep one privilege of root: passing through closed directories such as /root. Without the secure bit, access(2), which
  // Postgres uses to find its own programs, would ignore that privilege.
  const kept = '-all,+dac_override';
  return {
    owner,
    prefix: [
      '/usr/bin/setpriv',
      `--reuid=${owner.uid}`,
      `--regid=${owner.gid}`,
      '--clear-groups',
      '--securebits=+no_setuid_fixup',
      `--inh-caps=${kept}`,
      '--ambient-caps=+dac_override',
      `--bounding-set=${kept}`,
    ],
  };
}

function ownerOf(path: string): { uid: number; gid: number } | null {
  if (!existsSync(path)) return null;
  const { uid, gid } = statSync(path);
  return uid === 0 ? null : { uid, gid };
}

/** Accounts by name. Cached, because a lookup starts two programs. */
const accounts = new Map<string, ServerUser['owner']>();

function accountOf(name: string): ServerUser['owner'] {
  let account = accounts.get(name);
  if (account === undefined) accounts.set(name, (account = findAccount(name)));
  return account;
}

function findAccount(name: string): ServerUser['owner'] {
  try {
    const read = (flag: string): number =>
      Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: read('-u'), gid: read('-g') };
  } catch {
    return null;
  }
}

/** Whether everybody may enter every directory on the path. */
function isReachable(path: string): boolean {
  for (let directory = dirname(resolve(path)); ; directory = dirname(directory)) {
    if (existsSync(directory) && (statSync(directory).mode & 0o001) === 0) return false;
    if (directory === dirname(directory)) return true;
  }
}
