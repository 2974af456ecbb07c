export interface Rounds {
  /** Begins a round within so many ms, by default at once. If a round is running, another one follows. */
  wake(withinMs?: number): void;
  /** Begins no more rounds. Resolves when the running one has ended. */
  close(): Promise<void>;
}

/**
 * Does a round of work again and again, one at a time, and the first immediately. Each round returns in how many ms the next one must
 * begin at the latest (`Infinity`: only when woken); a wake-up brings it forward. `round` must not reject.
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
