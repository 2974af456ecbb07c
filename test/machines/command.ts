import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface Command {
  args: readonly string[];
  cwd: string;
  env: Record<string, string>;
}

export interface Finished {
  output: string;
}

/** A command's part of this process's environment: without the settings of the npm or the Laurel in which this runs. */
const PASSED_ON = /^(PATH|HOME|LANG|TERM|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|.*_proxy)$/i;
const KEPT_OUTPUT = 4_000;

/** A process in its own group, as a terminal would start it, with its output. */
export class Running {
  readonly child: ChildProcess;
  output = '';
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;

  constructor({ args: [file = '', ...args], cwd, env }: Command) {
    const passedOn = Object.entries(process.env).filter(([name]) => PASSED_ON.test(name));
    this.child = spawn(file, args, {
      cwd,
      env: { ...Object.fromEntries(passedOn), ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString('utf8')));
    }
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
    });
  }

  /** To the whole group, like Ctrl-C in a terminal, or to the process alone. */
  signal(signal: NodeJS.Signals, to: 'group' | 'process'): void {
    const { pid } = this.child;
    if (pid !== undefined) process.kill(to === 'group' ? -pid : pid, signal);
  }
}

/** Runs a command to its end. Throws with the end of its output if it fails or takes longer than `timeoutMs`. */
export async function runCommand(command: Command, timeoutMs: number): Promise<Finished> {
  const running = new Running(command);
  const code = await within(running.ended, timeoutMs).catch((error: unknown) => {
    running.signal('SIGKILL', 'group');
    throw new Error(`${command.args.join(' ')}: ${String(error)}\n${running.output.slice(-KEPT_OUTPUT)}`);
  });
  if (code === 0) return { output: running.output };
  throw new Error(`${command.args.join(' ')} ended with ${code}:\n${running.output.slice(-KEPT_OUTPUT)}`);
}

/** The promise's value; rejects if that takes longer than `timeoutMs`. */
export async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${Math.round(timeoutMs / 1000)} s`)), timeoutMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/**
 * The processes that work in a folder of this name or below it, or whose environment names it. Seen from outside, the
 * working directory of a process with another root directory is a path through that root.
 */
export function processesIn(folderName: string): number[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) return [];
    try {
      const seen = readlinkSync(`/proc/${entry}/cwd`) + readFileSync(`/proc/${entry}/environ`, 'latin1');
      return seen.includes(folderName) ? [Number(entry)] : [];
    } catch {
      return [];
    }
  });
}

/** Ends every process that works in a folder of this name. */
export function endAll(folderName: string): void {
  for (const pid of processesIn(folderName)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}
