import type { Pool } from 'pg';
import { v7 as uuid } from 'uuid';
import type { Clock } from '../../clock.ts';
import { readClock } from '../../postgres/test-clock.ts';
import { dropFollower, noteFollower } from '../../postgres/test-clock-followers.ts';
import type { Signals } from '../../redis/signals.ts';

/** How soon a process finds the clock set though its message was lost, and how often it gives a sign of life. */
const LOOK_MS = 250;

/**
 * The clock that the admin API sets, as this process has it: real time, or where it was set to stand. It follows
 * what is stored in Postgres, at once by pub/sub and by a look four times a second, and notes there which version
 * it has.
 */
export class TestClock implements Clock {
  private readonly pool: Pool;
  private readonly stopListening: () => void;
  private readonly id = uuid();
  private readonly worker: boolean;
  private readonly listeners = new Set<() => void>();
  private standsAtMs: number | null = null;
  private followed = -1;
  private looking: Promise<void> | null = null;
  private again = false;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  /** `worker`: this process does due work. */
  constructor({ pool, signals, worker }: { pool: Pool; signals: Signals; worker: boolean }) {
    this.pool = pool;
    this.worker = worker;
    this.stopListening = signals.listen('clock', () => this.lookSoon());
  }

  now(): number {
    return this.standsAtMs ?? Date.now();
  }

  /** Counts the times the clock was set or let go, as far as this process knows. */
  get version(): number {
    return this.followed;
  }

  /** Calls back whenever the clock was set or let go. */
  onChange(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** Resolves when this process shows the stored time. */
  async start(): Promise<void> {
    await this.look();
    this.lookAgain();
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    this.stopListening();
    await this.looking?.catch(() => undefined);
    await dropFollower(this.pool, this.id).catch(() => undefined);
  }

  /** Resolves when this process shows what was stored when this was called, or later. */
  async look(): Promise<void> {
    if (this.looking !== null) {
      this.again = true;
      return this.looking;
    }
    this.looking = this.read().finally(() => void (this.looking = null));
    return this.looking;
  }

  private lookSoon(): void {
    // With Postgres away nothing is to be learned; the next look finds it.
    this.look().catch(() => undefined);
  }

  private lookAgain(): void {
    this.timer = setTimeout(() => {
      this.lookSoon();
      if (!this.closed) this.lookAgain();
    }, LOOK_MS);
    this.timer.unref();
  }

  private async read(): Promise<void> {
    do {
      this.again = false;
      const { version, nowMs } = await readClock(this.pool);
      if (this.closed) return;
      const changed = version !== this.followed;
      this.standsAtMs = nowMs;
      this.followed = version;
      await noteFollower(this.pool, { id: this.id, worker: this.worker, version });
      if (changed) for (const listener of this.listeners) listener();
    } while (this.again && !this.closed);
  }
}
