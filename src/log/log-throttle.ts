/** How often a fault of Redis or Postgres that lasts is logged by each of those who meet it. */
export const OUTAGE_MS = 30_000;

/**
 * Keeps a log readable while a fault lasts and every request meets it. A line of one kind is logged once in `everyMs`; the
 * next one reports how many were left out since.
 */
export class LogThrottle {
  private readonly everyMs: number;
  private readonly logged = new Map<string | number, { atMs: number; suppressed: number }>();

  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  /** Calls `write`, unless it is too soon. `kind`: what the line is about; `suppressed`: lines left out since the last one. */
  log(kind: string | number, write: (suppressed: number) => void): void {
    const nowMs = performance.now();
    const last = this.logged.get(kind);
    if (last !== undefined && nowMs - last.atMs < this.everyMs) {
      last.suppressed += 1;
      return;
    }
    this.logged.set(kind, { atMs: nowMs, suppressed: 0 });
    write(last?.suppressed ?? 0);
  }
}
