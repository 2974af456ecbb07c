import type { ClosingReason, LiveMessage, LiveSink, SlowReaders } from '../../engine/live/live-sink.ts';
import type { LiveAdmission } from '../../engine/live/live.ts';

/** Limit for data that waits for a slow client, beyond what its connection buffers. Exceeding it closes the connection. */
export const MAX_WAITING_BYTES = 1_048_576;

/** Common part of live streams over server-sent events and WebSocket: the end of a connection, and its waiting data. */
export abstract class LiveConnection implements LiveSink {
  protected open = true;
  protected ending = false;
  readonly holder: string;
  private readonly slowReaders: SlowReaders;
  private listener: (() => void) | null = null;
  private wakes: (() => void)[] = [];

  constructor({ slowReaders, holder }: Pick<LiveAdmission, 'slowReaders' | 'holder'>) {
    this.slowReaders = slowReaders;
    this.holder = holder;
  }

  abstract send(messages: readonly LiveMessage[]): void;
  abstract heartbeat(id: string): void;
  abstract end(reason: ClosingReason): void;
  /** Bytes that wait for the client in this process. */
  protected abstract get bytes(): number;
  /** Closes the connection immediately, which calls `gone`. */
  protected abstract close(): void;

  /** Calls a function once when the connection is gone or closed from here; immediately if it already is. */
  onGone(listener: () => void): void {
    if (this.open) this.listener = listener;
    else listener();
  }

  drained(): Promise<void> {
    if (!this.open || this.bytes === 0) return Promise.resolve();
    return new Promise((resolve) => void this.wakes.push(resolve));
  }

  /** Call this when the connection is gone. */
  readonly gone = (): void => {
    if (!this.open) return;
    this.open = false;
    this.released();
    this.slowReaders.note(this, 0);
    this.wake();
    this.listener?.();
  };

  readonly cut = (): void => {
    if (!this.open) return;
    this.close();
    this.gone();
  };

  /** Call this after each change of the waiting data. `took`: the client read some of it. */
  protected noteWaiting(took = false): void {
    if (!this.open) return;
    const { bytes } = this;
    this.slowReaders.note(this, bytes, took);
    if (bytes === 0) this.wake();
  }

  /** Frees the resources of a connection that is gone. */
  protected released(): void {}

  private wake(): void {
    for (const wake of this.wakes.splice(0)) wake();
  }
}
