import { v7 as uuid } from 'uuid';
import type { Signals } from './signals.ts';

/** Shortest time between hints of one process. Each hint makes every worker query Postgres. */
const INTERVAL_MS = 50;

/**
 * Announces to all processes that webhook messages were queued. Only the holder of a webhook's lease sends them, and it can
 * be any process. Hints are an optimisation: after a lost hint, workers find the messages within 10 seconds.
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

  /** Sends a hint to the other processes; call it after the commit. Returns immediately. */
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

  /** Calls `listener` on every hint of another process and whenever one may have been lost. */
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
