/** Without taking anything for so long, the client of a stream is closed. */
const STALLED_MS = 5_000;
/** Most bytes that wait for the clients of a process. */
const MOST_WAITING_BYTES = 67_108_864;

/** A connection with bytes that its client has not taken. */
interface SlowConnection {
  /** Who opened it, see `holderOf`. */
  readonly holder: string;
  /** Closes it at once. */
  cut(): void;
}

/** Bounds what waits in this process for clients that do not read: nobody may fill its memory. */
export class SlowReaders {
  /** Connections for which something waits; the one that took nothing for the longest time is first. */
  private readonly waiting = new Map<SlowConnection, { bytes: number; sinceMs: number }>();
  /** Bytes that wait, by holder. */
  private readonly ofHolders = new Map<string, number>();
  private waitingBytes = 0;

  /** How many bytes wait. */
  get bytes(): number {
    return this.waitingBytes;
  }

  /**
   * Notes how many bytes wait for a client. `took`: it has taken some since the last call. If too many wait in all, connections
   * of the holder with the most bytes are cut, first those that took nothing for the longest time. So a holder of many streams that
   * are read slowly costs nobody else a stream.
   */
  note(connection: SlowConnection, bytes: number, took = false): void {
    const known = this.waiting.get(connection);
    this.add(connection.holder, bytes - (known?.bytes ?? 0));
    if (known !== undefined && bytes > 0 && !took) known.bytes = bytes;
    else {
      this.waiting.delete(connection);
      if (bytes > 0) this.waiting.set(connection, { bytes, sinceMs: performance.now() });
    }
    while (this.waitingBytes > MOST_WAITING_BYTES) this.cutOne();
  }

  /** Cuts those that took nothing for too long. To be called every second or so. */
  look(nowMs: number): void {
    for (const [connection, { sinceMs }] of this.waiting) {
      if (nowMs - sinceMs < STALLED_MS) return;
      this.cut(connection);
    }
  }

  private add(holder: string, bytes: number): void {
    this.waitingBytes += bytes;
    const left = (this.ofHolders.get(holder) ?? 0) + bytes;
    if (left > 0) this.ofHolders.set(holder, left);
    else this.ofHolders.delete(holder);
  }

  /** Something waits. */
  private cutOne(): void {
    let most = '';
    for (const [holder, bytes] of this.ofHolders) if (bytes > (this.ofHolders.get(most) ?? 0)) most = holder;
    for (const connection of this.waiting.keys()) if (connection.holder === most) return this.cut(connection);
  }

  private cut(connection: SlowConnection): void {
    this.note(connection, 0);
    connection.cut();
  }
}
