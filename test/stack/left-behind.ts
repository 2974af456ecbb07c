import { setTimeout as sleep } from 'node:timers/promises';

/** A server's share of a test file. */
export interface Part {
  url: string;
  /** Ends it. Throws afterwards if the test file has left a connection to it open. */
  close(): Promise<void>;
}

/** A closing connection takes a moment on the other side, seconds on a busy machine; one that stays longer was left open. */
const PATIENCE_MS = 15_000;

/** Polls `look` until it finds nothing; returns what it still finds at the end. */
export async function leftBehind<T>(look: () => Promise<T[]> | T[]): Promise<T[]> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let waitMs = 1; ; waitMs = Math.min(2 * waitMs, 100)) {
    const left = await look();
    if (left.length === 0 || Date.now() > deadline) return left;
    await sleep(waitMs);
  }
}
