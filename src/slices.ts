import { setImmediate as nextTurn } from 'node:timers/promises';

/** What a long piece of work may hold the event loop at once. */
const SLICE_MS = 10;

/**
 * Cuts a long piece of work into slices, so that the others whom this process serves have a turn in between. Made where the
 * work begins; asked between its steps, each of which should take less than a millisecond.
 */
export class Slices {
  private sinceMs = performance.now();

  /** Whether the work has held the loop for long enough: then `turn` is to be awaited. 50 ns. */
  get over(): boolean {
    return performance.now() - this.sinceMs > SLICE_MS;
  }

  /** Resolves when everything else that waits had its turn. */
  async turn(): Promise<void> {
    await nextTurn();
    this.sinceMs = performance.now();
  }
}
