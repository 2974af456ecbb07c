import { spawn, type ChildProcess } from 'node:child_process';
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

export interface GuardedCommand {
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
