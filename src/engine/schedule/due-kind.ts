import type { DueWork } from './due-work.ts';

export interface DueKindOptions {
  /** Told of every failure, with the kind's name. */
  onTrouble: (kind: string, error: unknown) => void;
  /** A call that takes longer counts as failed; ms. */
  patienceMs: number;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 30_000;

/**
 * A kind of work with what the schedule knows of its health. One that fails or hangs is set aside for a while that
 * doubles, so that the others go on; its own work keeps its order, since nothing later is tried meanwhile.
 */
export class DueKind {
  readonly work: DueWork;
  private readonly options: DueKindOptions;
  private failures = 0;
  private retryAtMs = -Infinity;
  private hanging = false;

  constructor(work: DueWork, options: DueKindOptions) {
    this.work = work;
    this.options = options;
  }

  /** Whether it is set aside at the moment. */
  get aside(): boolean {
    return this.hanging || performance.now() < this.retryAtMs;
  }

  /** See `DueWork.due`; undefined where it failed. */
  async due(upToMs: number, ending: AbortSignal): Promise<number | null | undefined> {
    const dueMs = await this.attempt(ending, () => this.work.due(upToMs));
    if (dueMs === null) this.failures = 0;
    return dueMs;
  }

  /** See `DueWork.perform`; whether it did so. */
  async perform(
    { dueMs, beforeMs, upToMs }: { dueMs: number; beforeMs: number; upToMs: number },
    ending: AbortSignal,
  ): Promise<boolean> {
    const outcome = await this.attempt(ending, async (signal) => {
      await this.work.perform(dueMs, signal, beforeMs, upToMs);
      return true;
    });
    if (outcome === true) this.failures = 0;
    return outcome === true;
  }

  private async attempt<T>(ending: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const tooLong = new AbortController();
    const called = call(AbortSignal.any([ending, tooLong.signal]));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), this.options.patienceMs);
    });
    try {
      const first = await Promise.race([called.then((value) => ({ value })), late]);
      if (first !== 'late') return first.value;
      this.hanging = true;
      const release = (): void => void (this.hanging = false);
      called.then(release, release);
      tooLong.abort();
      this.failed(new Error(`no answer in ${this.options.patienceMs / 1000} s`));
    } catch (error) {
      // What fails because the process ends is no news.
      if (!ending.aborted) this.failed(error);
    } finally {
      clearTimeout(timer);
    }
    return undefined;
  }

  private failed(error: unknown): void {
    this.retryAtMs = performance.now() + Math.min(FIRST_RETRY_MS * 2 ** this.failures, LAST_RETRY_MS);
    this.failures += 1;
    this.options.onTrouble(this.work.name, error);
  }
}
