/** A private server's process: its user, its environment, and its end with Laurel. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Writable } from 'node:stream';

export interface GuardedProcess {
  pid: number;
  /** The last lines of its output, for an error message. */
  output(): string;
  /** Settles when the process is gone, by whatever cause. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Asks it to end and waits; after `timeoutMs` it is killed. Safe to call twice. */
  stop(timeoutMs?: number): Promise<void>;
}

interface GuardedCommand {
  command: string;
  args: readonly string[];
  /** The signal that ends it cleanly. */
  stopSignal: 'SIGINT' | 'SIGTERM' | 'SIGQUIT';
  /** Run as this user; only root may say so. */
  as: { uid: number; gid: number } | null;
  env: NodeJS.ProcessEnv;
  /** A directory that is removed once the process is gone, however it ended. */
  removeAfterwards: string | null;
}

/**
 * The guard hangs on a pipe that this process holds. When the pipe closes without a word, this process died
 * (a kill -9 included), and the guard ends the server, within 20 s by force. The server itself keeps the shell's process number.
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
 * Starts a server that never outlives this process. It has a session of its own, so that a Ctrl-C in the
 * terminal reaches only this process, which ends the server when it no longer needs it.
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
    {
      cwd: '/',
      detached: true,
      env: command.env,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      ...command.as,
    },
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

/** What a server may need of this process's environment: to find programs, libraries and a place for temporary files. */
const NEEDED = ['PATH', 'LD_LIBRARY_PATH', 'TMPDIR', 'TZDIR'] as const;

/**
 * The environment of a private server. It has nothing else of this process's: keys and passwords that Laurel is configured with
 * would be readable, for as long as the server runs, by everybody who may look at it.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const needed = NEEDED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { ...Object.fromEntries(needed), LC_ALL: 'C' };
}

/** How to run a server as another user than root: Postgres refuses to run as root, and Redis need not. */
export interface ServerUser {
  /** Owner of the data; null: this process's own user. */
  owner: { uid: number; gid: number } | null;
  /** Put before the command where the user must pass through directories that are closed to it. */
  prefix: readonly string[];
}

/** Why a server cannot run as another user than root here. */
interface NoServerUser {
  problem: string;
}

/**
 * Whom a private server runs as: the user of this process, or, under root, the owner of the data, else `postgres`
 * where there is one, else `nobody`.
 * @param paths what that user must be able to reach: programs and data
 */
export function chooseServerUser(dataDir: string, paths: readonly string[]): ServerUser | NoServerUser {
  if (process.getuid?.() !== 0) return { owner: null, prefix: [] };
  const owner = ownerOf(dataDir) ?? accountOf('postgres') ?? accountOf('nobody');
  if (owner === null) return { problem: 'this machine has neither a user "postgres" nor "nobody"' };
  const closed = paths.find((path) => !isReachable(path));
  if (closed === undefined) return { owner, prefix: [] };
  if (!existsSync('/usr/bin/setpriv')) return { problem: `no other user may enter ${closed}` };
  // Another user, with one privilege of root kept: to pass through closed directories such as /root. Without the
  // secure bit, access(2), by which Postgres looks for its own programs, would not count that privilege.
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

/** By name, as this process found them: asking for one starts two programs. */
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

/** True if every directory on the way may be entered by everybody. */
function isReachable(path: string): boolean {
  for (let directory = dirname(resolve(path)); ; directory = dirname(directory)) {
    if (existsSync(directory) && (statSync(directory).mode & 0o001) === 0) return false;
    if (directory === dirname(directory)) return true;
  }
}
