import { setTimeout as sleep } from 'node:timers/promises';

/** A server's share of a test file. */
export interface Part {
  url: string;
  /** Ends it. Throws afterwards if the test file has left a connection to it open. */
  close(): Promise<void>;
}

/** What closes takes a moment on the other side; what stays longer was left. */
const PATIENCE_MS = 5_000;

/** What `look` still finds when it has had time to go; empty as soon as it finds nothing. */
export async function leftBehind<T>(look: () => Promise<T[]> | T[]): Promise<T[]> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let waitMs = 1; ; waitMs = Math.min(2 * waitMs, 100)) {
    const left = await look();
    if (left.length === 0 || Date.now() > deadline) return left;
    await sleep(waitMs);
  }
}
