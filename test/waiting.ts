import { setTimeout as sleep } from 'node:timers/promises';

/** How long something may take on a busy machine. */
const PATIENCE_MS = 120_000;
const EVERY_MS = 20;

/**
 * Reads something until it is as wanted, by default until it is true, and returns it. Reads more often than `expect.poll`.
 * @param shown what the error shows if that does not happen; by default what was read last
 */
export async function until<T>(
  read: () => T | Promise<T>,
  isSo: (found: T) => boolean = Boolean,
  shown: () => unknown = read,
): Promise<T> {
  for (const endMs = performance.now() + PATIENCE_MS; performance.now() < endMs; await sleep(EVERY_MS)) {
    const found = await read();
    if (isSo(found)) return found;
  }
  throw new Error(`It did not happen in time: ${JSON.stringify(await shown())}`);
}
