import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long work may occupy the event loop at once. */
const SLICE_MS = 10;

/** Divides long work into slices. Check it between steps of less than a millisecond. */
export class Slices {
  private sinceMs = performance.now();

  /** Whether the work has occupied the loop long enough to await `turn`. Takes 50 ns. */
  get over(): boolean {
    return performance.now() - this.sinceMs > SLICE_MS;
  }

  /** Resolves after all other waiting work had its turn. */
  async turn(): Promise<void> {
    await nextTurn();
    this.sinceMs = performance.now();
  }
}
