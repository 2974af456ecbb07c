/** The connection of a listener, as the engine sees it: slow readers and heartbeats. */

/** One message of a live stream. */
export interface LiveMessage {
  id: string;
  type: string;
  /** JSON text of an object with `id` and `type`. */
  json: string;
}

/** Why a stream ends from here; the client reads it in its last message. */
export type ClosingReason =
  | 'shutting_down'
  | 'slow_reader'
  | 'too_many_frames'
  | 'key_revoked'
  | 'key_expired'
  | 'session_ended'
  | 'tenant_gone'
  | 'internal_error';

/** Where the messages of a stream go: a connection. Nothing here throws; one that is closed takes nothing. */
export interface LiveSink {
  /** Sends messages in one go. */
  send(messages: readonly LiveMessage[]): void;
  /** Says that the stream is still there, and how far it has come. */
  heartbeat(id: string): void;
  /** Sends a last message and closes. */
  end(reason: ClosingReason): void;
  /** Resolves when the client has taken all that was sent, or the connection is gone. */
  drained(): Promise<void>;
}

/** Reasons after which a client gets no further with the same rights. */
const FINAL: ReadonlySet<ClosingReason> = new Set(['key_revoked', 'key_expired', 'session_ended', 'tenant_gone']);

/** When a client should come back, ms; spread, so that not all come at once. Null: it cannot. */
export const reconnectMs = (reason: ClosingReason): number | null =>
  FINAL.has(reason) ? null : 500 + Math.floor(Math.random() * 2_000);

/** The last message of a stream. */
export function closingJson(reason: ClosingReason, retryMs: number | null): string {
  return JSON.stringify({ type: 'closing', reason, reconnect: retryMs !== null, retryMs });
}

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

/** Seconds between signs of life on a stream on which nothing happens. */
export const HEARTBEAT_S = 25;
