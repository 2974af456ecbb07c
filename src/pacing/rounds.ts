export interface Rounds {
  /** Starts a round within this many ms, by default at once. If a round is running, another one follows. */
  wake(withinMs?: number): void;
  /** Starts no more rounds. Resolves when the running one has ended. */
  close(): Promise<void>;
}

/**
 * Repeats a round of work, one at a time, the first immediately. Each round returns the time (ms) after which the next
 * one must start at the latest (`Infinity`: only when woken); a wake-up can start it earlier. `round` must not reject.
 */
export function rounds(round: () => Promise<number>): Rounds {
  let timer: NodeJS.Timeout | undefined;
  /** When the next round starts (`performance.now()`). */
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
    // A wake-up during the round set no timer.
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
