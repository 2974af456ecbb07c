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
