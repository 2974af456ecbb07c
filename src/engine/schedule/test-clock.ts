import type { Pool } from 'pg';
import { v7 as uuid } from 'uuid';
import type { Clock } from '../../clock.ts';
import { dropFollower, noteFollower, readClock } from '../../postgres/test-clock.ts';
import type { Signals } from '../../redis/signals.ts';
import { SharedRuns } from '../../shared-runs.ts';

/** The backstop for lost signals, which is also the interval of signs of life. */
const BACKSTOP_MS = 1_000;

/**
 * The clock that the admin API sets, as this process has it: real time, or where it was set to stand. It follows
 * what is stored in Postgres, at each signal and once a second, and notes there which version it has.
 */
export class TestClock implements Clock {
  private readonly pool: Pool;
  private readonly signals: Signals;
  private stopListening = (): void => undefined;
  private readonly id = uuid();
  private readonly worker: boolean;
  private readonly listeners = new Set<() => void>();
  private standsAtMs: number | null = null;
  private followed = -1;
  private readonly looks = new SharedRuns(() => this.read(), { everyMs: 0 });
  private closed = false;

  /** `worker`: this process does due work. */
  constructor({ pool, signals, worker }: { pool: Pool; signals: Signals; worker: boolean }) {
    this.pool = pool;
    this.worker = worker;
    this.signals = signals;
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
    // With Postgres away nothing is to be learned; the next look finds it.
    this.stopListening = this.signals.listen('clock', () => void this.look().catch(() => undefined), BACKSTOP_MS);
    await this.look();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.stopListening();
    // Resolves after the look under way.
    await this.look().catch(() => undefined);
    await dropFollower(this.pool, this.id).catch(() => undefined);
  }

  /** Resolves when this process shows what was stored when this was called, or later. */
  look(): Promise<void> {
    return this.looks.run();
  }

  private async read(): Promise<void> {
    if (this.closed) return;
    const { version, nowMs } = await readClock(this.pool);
    if (this.closed) return;
    const changed = version !== this.followed;
    this.standsAtMs = nowMs;
    this.followed = version;
    await noteFollower(this.pool, { id: this.id, worker: this.worker, version });
    if (changed) for (const listener of this.listeners) listener();
  }
}
