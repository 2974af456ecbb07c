import type { ClosingReason, LiveMessage, LiveSink } from '../../engine/live/live-sink.ts';
import type { LiveAdmission } from '../../engine/live/live.ts';
import type { SlowReaders } from '../../engine/live/slow-readers.ts';

/** What may wait for a client that does not read, besides what its connection takes; with more it is closed. */
export const MAX_WAITING_BYTES = 1_048_576;

/** What live streams over server-sent events and over WebSocket have in common: when the connection ends, and what waits for it. */
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
  /** Closes the connection at once, which calls `gone`. */
  protected abstract close(): void;

  /** Has a function called once, when the connection is gone or was closed from here: at once if it is already. */
  onGone(listener: () => void): void {
    if (this.open) this.listener = listener;
    else listener();
  }

  drained(): Promise<void> {
    if (!this.open || this.bytes === 0) return Promise.resolve();
    return new Promise((resolve) => void this.wakes.push(resolve));
  }

  /** To be called when the connection is gone. */
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

  /** To be called after each change of what waits. `took`: the client took some of it. */
  protected noteWaiting(took = false): void {
    if (!this.open) return;
    const { bytes } = this;
    this.slowReaders.note(this, bytes, took);
    if (bytes === 0) this.wake();
  }

  /** Lets go of what is held for a connection that is gone. */
  protected released(): void {}

  private wake(): void {
    for (const wake of this.wakes.splice(0)) wake();
  }
}
