export interface Rounds {
  /** Has a round begin within so many ms, at once by default. One that is under way is followed by another. */
  wake(withinMs?: number): void;
  /** Begins no more rounds; resolves when the one under way has ended. */
  close(): Promise<void>;
}

/**
 * Does a round of work again and again, one at a time, the first at once: each says in how many ms the next one is to begin
 * at the latest, and a wake-up brings it forward. So a process at rest waits, and still nothing waits for it. `round` must
 * not reject.
 */
export function rounds(round: () => Promise<number>): Rounds {
  let timer: NodeJS.Timeout | undefined;
  /** When the next round begins (`performance.now()`). */
  let nextMs = Infinity;
  let running: Promise<void> | null = null;
  let closed = false;
  const wake = (withinMs = 0): void => {
    const wantedMs = performance.now() + withinMs;
    if (closed || wantedMs >= nextMs) return;
    nextMs = wantedMs;
    if (running !== null) return;
    clearTimeout(timer);
    timer = setTimeout(() => void (running = begin()), withinMs);
  };
  const begin = async (): Promise<void> => {
    nextMs = Infinity;
    const restMs = await round();
    running = null;
    // A wake-up that came meanwhile set no timer.
    const withinMs = Math.max(0, Math.min(restMs, nextMs - performance.now()));
    nextMs = Infinity;
    wake(withinMs);
  };
  wake();
  return {
    wake,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
