/** Without taking anything for so long, the client of a stream is closed. */
const STALLED_MS = 5_000;
/** Most bytes that wait for the clients of a process. */
const MOST_WAITING_BYTES = 67_108_864;

/** A connection that holds bytes which its client has not taken. */
interface Holder {
  /** Closes it at once. */
  cut(): void;
}

/** Bounds what waits in this process for clients that do not read: nobody may fill its memory. */
export class SlowReaders {
  /** Those for whom something waits; the one that took nothing for the longest time is first. */
  private readonly waiting = new Map<Holder, { bytes: number; sinceMs: number }>();
  private waitingBytes = 0;

  /** How many bytes wait. */
  get bytes(): number {
    return this.waitingBytes;
  }

  /**
   * Notes how many bytes wait for a client. `took`: it has taken some since the last call. Where too many wait in all, the
   * connections that took nothing for the longest time are cut.
   */
  note(holder: Holder, bytes: number, took = false): void {
    const known = this.waiting.get(holder);
    this.waitingBytes += bytes - (known?.bytes ?? 0);
    if (known !== undefined && bytes > 0 && !took) known.bytes = bytes;
    else {
      this.waiting.delete(holder);
      if (bytes > 0) this.waiting.set(holder, { bytes, sinceMs: performance.now() });
    }
    for (const longest of this.waiting.keys()) {
      if (this.waitingBytes <= MOST_WAITING_BYTES) return;
      this.cut(longest);
    }
  }

  /** Cuts those that took nothing for too long. To be called every second or so. */
  look(nowMs: number): void {
    for (const [holder, { sinceMs }] of this.waiting) {
      if (nowMs - sinceMs < STALLED_MS) return;
      this.cut(holder);
    }
  }

  private cut(holder: Holder): void {
    this.note(holder, 0);
    holder.cut();
  }
}
