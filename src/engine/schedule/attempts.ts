export interface AttemptsOptions {
  /** Called with every failure, but not with those that come of the process's end. */
  onFailed: (error: unknown) => void;
  /** A call that takes longer counts as failed; ms. */
  patienceMs: number;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 30_000;

/**
 * How something fares that is tried again and again: after a failure it is set aside for a while that doubles with every
 * further one, and while a call hangs until that call ends.
 */
export class Attempts {
  private readonly options: AttemptsOptions;
  private failures = 0;
  private retryAtMs = -Infinity;
  private hanging = false;

  constructor(options: AttemptsOptions) {
    this.options = options;
  }

  /** Whether it is set aside at the moment. */
  get aside(): boolean {
    return this.hanging || performance.now() < this.retryAtMs;
  }

  /** How long ago its last pause ended, ms; negative while it is set aside. */
  get idleMs(): number {
    return this.hanging ? -Infinity : performance.now() - this.retryAtMs;
  }

  /** The next failure is the first again. */
  succeeded(): void {
    this.failures = 0;
  }

  /** Makes a call; undefined where it failed or took too long, and its signal is then aborted. */
  async make<T>(ending: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<{ value: T } | undefined> {
    const tooLong = new AbortController();
    const called = call(AbortSignal.any([ending, tooLong.signal]));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), this.options.patienceMs);
    });
    try {
      const first = await Promise.race([called.then((value) => ({ value })), late]);
      if (first !== 'late') return first;
      this.hanging = true;
      const release = (): void => void (this.hanging = false);
      called.then(release, release);
      tooLong.abort();
      this.failed(new Error(`no answer in ${this.options.patienceMs / 1000} s`));
    } catch (error) {
      // What fails because the process ends is not reported.
      if (!ending.aborted) this.failed(error);
    } finally {
      clearTimeout(timer);
    }
    return undefined;
  }

  private failed(error: unknown): void {
    this.retryAtMs = performance.now() + Math.min(FIRST_RETRY_MS * 2 ** this.failures, LAST_RETRY_MS);
    this.failures += 1;
    this.options.onFailed(error);
  }
}
