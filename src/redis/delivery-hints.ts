import { v7 as uuid } from 'uuid';
import type { Signals } from './signals.ts';

/** At most one hint in this time, from one process: each has every worker look into Postgres. */
const INTERVAL_MS = 50;

/**
 * Says in all processes that messages for webhooks were queued: the one that has to send them is the holder of the webhook's
 * lease, whichever that is, so every one hears of it. A hint is never the truth: nothing waits for it, and one that
 * is lost costs the 10 seconds until a worker looks by itself.
 */
export class DeliveryHints {
  private readonly signals: Signals;
  private readonly id = uuid();
  private stopListening: (() => void) | null = null;
  private timer: NodeJS.Timeout | null = null;
  private pending = false;

  /** The caller closes the signals. */
  constructor(signals: Signals) {
    this.signals = signals;
  }

  /** Says so to the others, after the commit; returns at once. */
  queued(): void {
    if (this.timer !== null) {
      this.pending = true;
      return;
    }
    this.publish();
    this.timer = setTimeout(() => {
      this.timer = null;
      if (!this.pending) return;
      this.pending = false;
      this.queued();
    }, INTERVAL_MS).unref();
  }

  /** Calls back with every hint of another process, and whenever one may have been lost. */
  listen(listener: () => void): void {
    this.stopListening = this.signals.listen('deliveries', (from) => from === this.id || listener());
  }

  close(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.pending) this.publish();
    this.stopListening?.();
  }

  private publish(): void {
    void this.signals.publish('deliveries', this.id);
  }
}
