/**
 * Keeps a log readable: what is wrong stays wrong for a while, and meets everybody who comes. A complaint of a kind is not
 * made sooner again than after `everyMs`; the next one is told how many there were meanwhile.
 */
export class Complaints {
  private readonly everyMs: number;
  private readonly made = new Map<string | number, { atMs: number; unsaid: number }>();

  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  /** Calls `say`, unless it is too soon. `kind`: what the complaint is about. */
  make(kind: string | number, say: (unsaid: number) => void): void {
    const nowMs = performance.now();
    const last = this.made.get(kind);
    if (last !== undefined && nowMs - last.atMs < this.everyMs) {
      last.unsaid += 1;
      return;
    }
    this.made.set(kind, { atMs: nowMs, unsaid: 0 });
    say(last?.unsaid ?? 0);
  }
}
