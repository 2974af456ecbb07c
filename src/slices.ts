import { nextTurn } from './turns.ts';

/** How long work may occupy the event loop at once. Several requests that compute delay others by a slice each. */
const SLICE_MS = 1;

/** Divides long work into slices. Check it between steps of less than a millisecond. */
export class Slices {
  private sinceMs = performance.now();

  /** Whether the work has occupied the loop long enough to await `turn`. Takes 50 ns. */
  get over(): boolean {
    return performance.now() - this.sinceMs > SLICE_MS;
  }

  /** Resolves when it is the work's turn again, after other waiting work. */
  async turn(): Promise<void> {
    await nextTurn();
    this.sinceMs = performance.now();
  }
}
