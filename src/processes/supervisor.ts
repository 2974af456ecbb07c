import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { delayMs } from '../pacing/backoff.ts';
import { StartError } from '../start-error.ts';
import type { Log } from '../telemetry/log.ts';
import type { Family } from '../telemetry/metrics.ts';
import { ENDED_RUNS, gatherFor, READY, RUN } from './child-process.ts';

export interface ChildCommand {
  name: string;
  /** The JavaScript file. It reports `ready` (see `child-process.ts`) and ends on SIGTERM. */
  file: URL;
  env: NodeJS.ProcessEnv;
  nodeOptions?: readonly string[];
}

interface Child {
  command: ChildCommand;
  process: ChildProcess | null;
  failures: number;
  restarts: number;
  timer: NodeJS.Timeout | null;
  /** The last processes that have exited (`supervisedRuns`). */
  ended: readonly string[];
}

/** Several, because a process may exit before it has used the list. */
const MOST_ENDED = 10;

/** Delay before a child is restarted: doubled with each early exit. */
const RESTARTS = { firstMs: 200, lastMs: 10_000 };
/** A child that lived this long did not fail at its start. */
const SETTLED_MS = 30_000;

/**
 * Keeps child processes running: restarts those that exit unexpectedly, with growing delays. Children run in their own
 * sessions, so Ctrl-C in the terminal reaches only this process, which ends them in order.
 */
export class Supervisor {
  private readonly log: Log;
  private readonly children: Child[] = [];
  private stopping = false;
  /** Called with every started process. */
  private readonly gather: (child: ChildProcess) => void;

  constructor(log: Log) {
    this.log = log;
    const running = (): (readonly [string, ChildProcess])[] =>
      this.children.flatMap(({ command, process: child }) => (child === null ? [] : [[command.name, child] as const]));
    this.gather = gatherFor(running, async () => supervisedFamilies(this.children.map(stateOf)));
  }

  /** Resolves when a child is ready; throws a `StartError` if it exits before. `retry`: restarts it instead. */
  async start(command: ChildCommand, { retry = false } = {}): Promise<void> {
    if (this.stopping) throw new StartError('Laurel is being stopped.');
    const child: Child = { command, process: null, failures: 0, restarts: 0, timer: null, ended: [] };
    const started = this.launch(child);
    child.process = started;
    this.children.push(child);
    if (retry) this.watch(child, started);
    const [event] = (await Promise.race([
      isReady(started).then(() => ['ready']),
      once(started, 'exit').then(([code, signal]) => [`ended (${describe(code, signal)})`]),
    ])) as [string];
    if (retry) return;
    if (event !== 'ready') {
      this.children.splice(this.children.indexOf(child), 1);
      throw new StartError(`Laurel did not start: its process "${command.name}" ${event}; see its output above.`);
    }
    this.watch(child, started);
  }

  /** Ends the children whose names begin with `names`, all at once: SIGTERM, and SIGKILL after `timeoutMs`. */
  async stop(names: string, timeoutMs: number): Promise<void> {
    this.stopping = true;
    const ending = this.children.filter(({ command }) => command.name.startsWith(names));
    await Promise.all(ending.map((child) => this.end(child, timeoutMs)));
  }

  kill(): void {
    this.stopping = true;
    for (const { process: running } of this.children) running?.kill('SIGKILL');
  }

  private async end(child: Child, timeoutMs: number): Promise<void> {
    if (child.timer !== null) clearTimeout(child.timer);
    const { process: running } = child;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const exited = once(running, 'exit');
    running.kill('SIGTERM');
    const timer = setTimeout(() => {
      this.log.warn({ child: child.command.name, timeoutMs }, 'the process did not end in time and is killed');
      running.kill('SIGKILL');
    }, timeoutMs);
    await exited;
    clearTimeout(timer);
  }

  private launch(of: Child): ChildProcess {
    const { command, ended } = of;
    const run = randomUUID();
    const env = { ...command.env, [RUN]: run, ...(ended.length > 0 && { [ENDED_RUNS]: ended.join(' ') }) };
    const execArgv = ['--enable-source-maps', ...(command.nodeOptions ?? [])];
    const child = fork(command.file, { env, execArgv, detached: true });
    child.once('exit', () => {
      // The event is also emitted after an error of a child that may live.
      if (child.exitCode !== null || child.signalCode !== null) of.ended = [...of.ended, run].slice(-MOST_ENDED);
    });
    // A child that cannot be launched emits no `exit`. Treat it the same.
    child.once('error', () => child.emit('exit', -1, null));
    this.gather(child);
    return child;
  }

  private watch(child: Child, running: ChildProcess): void {
    const startedMs = performance.now();
    running.once('exit', (code, signal) => {
      child.process = null;
      if (this.stopping) return;
      child.failures = performance.now() - startedMs > SETTLED_MS ? 0 : child.failures + 1;
      const restMs = delayMs(RESTARTS, child.failures);
      this.log.error(
        { child: child.command.name, ended: describe(code, signal), delayMs: restMs },
        'a process exited; restarting it',
      );
      child.timer = setTimeout(() => {
        child.timer = null;
        child.restarts += 1;
        child.process = this.launch(child);
        this.watch(child, child.process);
      }, restMs);
    });
  }
}

const isReady = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    child.on('message', (message) => message === READY && resolve());
  });

const stateOf = ({ command, process: running, restarts }: Child): SupervisedState => ({
  name: command.name,
  isUp: running !== null,
  restarts,
});

const describe = (code: number | null, signal: NodeJS.Signals | null): string => signal ?? `exit code ${code}`;

interface SupervisedState {
  name: string;
  isUp: boolean;
  restarts: number;
}

/** A supervisor's metrics of its children. */
const supervisedFamilies = (children: readonly SupervisedState[]): Family[] => [
  {
    name: 'laurel_process_up',
    help: 'Whether a process of this supervisor is running: 1 or 0.',
    type: 'gauge',
    values: children.map(({ name, isUp }) => ({ labels: { process: name }, value: Number(isUp) })),
  },
  {
    name: 'laurel_process_restarts_total',
    help: 'How often a process exited unexpectedly and was restarted.',
    type: 'counter',
    values: children.map(({ name, restarts }) => ({ labels: { process: name }, value: restarts })),
  },
];
