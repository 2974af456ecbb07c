import { setTimeout as sleep } from 'node:timers/promises';
import { forAll, inOwnTurn } from './turns.ts';

/** Runs a task for all callers, each with a run that began after its call, at least `everyMs` apart. */
export class SharedRuns<T> {
  private readonly work: () => Promise<T>;
  private readonly everyMs: number;
  /** The run that has not started yet. */
  private next: Promise<T> | null = null;
  /** Settles with the run under way. */
  private running: Promise<unknown> = Promise.resolve();
  private begunMs = -Infinity;

  constructor(work: () => Promise<T>, { everyMs }: { everyMs: number }) {
    this.work = work;
    this.everyMs = everyMs;
  }

  /** Resolves or rejects as the run does. */
  run(): Promise<T> {
    return inOwnTurn((this.next ??= forAll(() => this.begin())));
  }

  private async begin(): Promise<T> {
    await this.running;
    const restMs = this.begunMs + this.everyMs - performance.now();
    if (restMs > 0) await sleep(Math.ceil(restMs), undefined, { ref: false });
    this.next = null;
    this.begunMs = performance.now();
    const run = this.work();
    this.running = run.catch(() => undefined);
    return run;
  }
}
