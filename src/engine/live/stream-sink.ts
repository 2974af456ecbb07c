/** A listener's connection, as the engine sees it: slow readers and heartbeats. */

export interface LiveMessage {
  id: string;
  type: string;
  /** JSON text of an object with `id` and `type`. */
  json: string;
}

/** Why the server ends a stream. The client gets it in the last message. */
export type ClosingReason =
  | 'shutting_down'
  | 'slow_reader'
  | 'too_many_frames'
  | 'key_revoked'
  | 'key_expired'
  | 'session_ended'
  | 'tenant_gone'
  | 'internal_error';

/** The connection that a stream's messages go to. Its methods do not throw; a closed one ignores messages. */
export interface LiveSink {
  send(messages: readonly LiveMessage[]): void;
  /** Shows that the stream is alive, and how far it has come. */
  heartbeat(id: string): void;
  end(reason: ClosingReason): void;
  /** Resolves when the client has received everything sent, or the connection is gone. */
  drained(): Promise<void>;
}

/** Reasons after which a client cannot continue with the same rights. */
const FINAL: ReadonlySet<ClosingReason> = new Set(['key_revoked', 'key_expired', 'session_ended', 'tenant_gone']);

/** When a client should come back (ms), with a random spread so that not all come at once. `null` if it cannot. */
export const reconnectMs = (reason: ClosingReason): number | null =>
  FINAL.has(reason) ? null : 500 + Math.floor(Math.random() * 2_000);

export function closingJson(reason: ClosingReason, retryMs: number | null): string {
  return JSON.stringify({ type: 'closing', reason, reconnect: retryMs !== null, retryMs });
}

/** A client that accepts no data for this long is disconnected. */
const STALLED_MS = 5_000;
/** Maximum number of bytes that wait for all clients of a process. */
const MOST_WAITING_BYTES = 67_108_864;

/** A connection with bytes that its client has not accepted. */
interface SlowConnection {
  /** See `holderOf`. */
  readonly holder: string;
  cut(): void;
}

/** Limits the memory for data that waits for slow clients. */
export class SlowReaders {
  /** Connections with waiting data, ordered by when their clients last accepted data, oldest first. */
  private readonly waiting = new Map<SlowConnection, { bytes: number; sinceMs: number }>();
  /** Waiting bytes, by holder. */
  private readonly ofHolders = new Map<string, number>();
  private waitingBytes = 0;

  get bytes(): number {
    return this.waitingBytes;
  }

  /**
   * Notes how many bytes wait for a client. `took`: the client has accepted some since the last call. If too many bytes
   * wait in total, disconnects clients of the holder with the most bytes, starting with the longest stalled. So a
   * holder of many slow streams costs no other holder a stream.
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

  /** Disconnects stalled clients. Call it about once a second. */
  check(nowMs: number): void {
    for (const [connection, { sinceMs }] of this.waiting) {
      if (nowMs - sinceMs < STALLED_MS) return;
      this.cut(connection);
    }
  }

  private add(holder: string, bytes: number): void {
    this.waitingBytes += bytes;
    const bytesOfHolder = (this.ofHolders.get(holder) ?? 0) + bytes;
    if (bytesOfHolder > 0) this.ofHolders.set(holder, bytesOfHolder);
    else this.ofHolders.delete(holder);
  }

  /** Requires that data is waiting. */
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

/** Seconds between heartbeats on an idle stream. */
export const HEARTBEAT_S = 25;
