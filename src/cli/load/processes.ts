import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../package-root.ts';
import { CommandError } from '../command.ts';
import { addCounts, emptyCounts, type LoadJob, type LoadOutcome, type Second } from './generator.ts';
import { Histogram } from './histogram.ts';
import { Ledger } from './ledger.ts';
import type { FromProcess, ToProcess } from './process.ts';

/** Always the built file: also the tests, which run the sources, start processes of it. */
const PROCESS = join(PACKAGE_ROOT, 'dist/src/cli/load/process.js');

/** The result of all processes: their numbers added, and each one's health. */
export interface MergedOutcome extends Omit<LoadOutcome, 'health'> {
  health: LoadOutcome['health'][];
  /** Every second of the load, added over the processes. */
  all: Second[];
}

/** Processes that make load together. They stay for several loads. */
export class LoadProcesses {
  readonly ledger = new Ledger();
  private readonly children: ChildProcess[];
  private stopping = false;

  constructor(number: number) {
    this.children = Array.from({ length: number }, () => fork(PROCESS, { execArgv: ['--enable-source-maps'] }));
  }

  /**
   * Runs a job, divided among the processes. `onSecond`: called for each second that all processes have reported. Ends the
   * command if the address does not accept connections.
   */
  async run(job: LoadJob, onSecond: (second: Second) => void = () => undefined): Promise<MergedOutcome> {
    const parts = divided(job, this.children.length);
    await Promise.all(this.children.map((child, no) => this.ask(child, { type: 'job', job: parts[no]! }, 'ready')));
    const seconds = new Map<number, { whole: Second; from: number }>();
    const take = (second: Second): void => {
      const known = seconds.get(second.second);
      const whole = known === undefined ? second : added(known.whole, second);
      const from = (known?.from ?? 0) + 1;
      seconds.set(second.second, { whole, from });
      if (from === this.children.length) onSecond(whole);
    };
    if (this.stopping) this.stop();
    const outcomes = await Promise.all(this.children.map((child) => this.ask(child, { type: 'go' }, 'done', take)));
    const merged = { ...emptyCounts(), seconds: 0 };
    for (const { outcome, ledger } of outcomes) {
      addCounts(merged, outcome);
      merged.seconds = Math.max(merged.seconds, outcome.seconds);
      if (ledger !== null) this.ledger.merge(ledger);
    }
    merged.latency = Histogram.of(...outcomes.map(({ outcome }) => outcome.latency)).buckets();
    merged.expectedLatency = Histogram.of(...outcomes.map(({ outcome }) => outcome.expectedLatency)).buckets();
    const all = [...seconds.values()].map(({ whole }) => whole).toSorted((a, b) => a.second - b.second);
    return { ...merged, health: outcomes.map(({ outcome }) => outcome.health), all };
  }

  /** Ends the load that runs, and later ones at once. */
  stop(): void {
    this.stopping = true;
    for (const child of this.children) if (child.connected) child.send({ type: 'stop' } satisfies ToProcess);
  }

  async end(): Promise<void> {
    await Promise.all(
      this.children
        .filter((child) => child.exitCode === null && child.signalCode === null)
        .map(async (child) => {
          const ended = once(child, 'exit');
          child.disconnect();
          await ended;
        }),
    );
  }

  /** Sends a message and returns the answer of that type. */
  private ask<T extends FromProcess['type']>(
    child: ChildProcess,
    message: ToProcess,
    type: T,
    onSecond: (second: Second) => void = () => undefined,
  ): Promise<Extract<FromProcess, { type: T }>> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        child.off('message', take);
        child.off('exit', fail);
        act();
      };
      const take = (answer: FromProcess): void => {
        if (answer.type === 'second') onSecond(answer.second);
        else if (answer.type === type) settle(() => resolve(answer as Extract<FromProcess, { type: T }>));
        else if (answer.type === 'failed')
          settle(() => reject(new CommandError(`The load cannot connect: ${answer.message}.`)));
      };
      const fail = (code: number | null): void =>
        settle(() => reject(new CommandError(`A process that makes load ended unexpectedly (${code}).`)));
      child.on('message', take);
      child.once('exit', fail);
      child.send(message);
    });
  }
}

/** The parts of a job: each process has its own seed, and its share of connections, rate and requests. */
function divided(job: LoadJob, number: number): LoadJob[] {
  const { pace, ends } = job;
  const share = (whole: number, no: number): number =>
    Math.floor((whole * (no + 1)) / number) - Math.floor((whole * no) / number);
  return Array.from({ length: number }, (_, no) => ({
    ...job,
    seed: job.seed + no * 1_000_003,
    ...(job.keyPrefix !== undefined && { keyPrefix: `${job.keyPrefix}-${no}` }),
    connections: Math.max(1, share(job.connections, no)),
    pace: pace === 'flat out' ? pace : { ...pace, share: pace.share / number },
    ends: 'requests' in ends ? { requests: share(ends.requests, no) } : ends,
  }));
}

function added(one: Second, other: Second): Second {
  const whole: Second = {
    ...structuredClone(one),
    latency: Histogram.of(one.latency, other.latency).buckets(),
    expectedLatency: Histogram.of(one.expectedLatency, other.expectedLatency).buckets(),
    queue: one.queue + other.queue,
    inFlight: one.inFlight + other.inFlight,
  };
  addCounts(whole, other);
  return whole;
}
