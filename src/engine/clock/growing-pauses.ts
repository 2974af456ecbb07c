import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_MS = 10;
const LAST_MS = 100;
/** So much later than it might a wait ends, at most, in parts of its length. */
const LATER = 0.2;

/**
 * Pauses between the looks of one wait: short at first, longer the longer it takes. Looking every 10 ms to the end was an
 * eighth of all that Postgres was asked where the test clock is set again and again.
 */
export class GrowingPauses {
  private readonly beganMs = performance.now();

  /** Resolves after the next pause: 10 to 100 ms. */
  async next(): Promise<void> {
    const waitedMs = performance.now() - this.beganMs;
    await sleep(Math.min(LAST_MS, Math.max(FIRST_MS, waitedMs * LATER)));
  }
}
