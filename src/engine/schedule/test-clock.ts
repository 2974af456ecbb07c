import type { Pool } from 'pg';
import { v7 as uuid } from 'uuid';
import { type Clock, systemClock } from '../../clock.ts';
import { dropFollower, followClock } from '../../postgres/test-clock.ts';
import type { Signals } from '../../redis/signals.ts';
import { SharedRuns } from '../../pacing/shared-runs.ts';

/** Interval of unconditional checks, in case a signal is lost, and of heartbeats. */
const BACKSTOP_MS = 1_000;

/** The clock that the Admin API sets. Follows the setting in Postgres, and stores there which version it has. */
export class TestClock implements Clock {
  private readonly pool: Pool;
  private readonly signals: Signals;
  private stopListening = (): void => undefined;
  private readonly id = uuid();
  private readonly worker: boolean;
  private readonly listeners = new Set<() => void>();
  private standsAtMs: number | null = null;
  private followed = -1;
  private readonly refreshes = new SharedRuns(() => this.read(), { everyMs: 0 });
  private closed = false;

  constructor({ pool, signals, worker }: { pool: Pool; signals: Signals; worker: boolean }) {
    this.pool = pool;
    this.worker = worker;
    this.signals = signals;
  }

  now(): number {
    return this.standsAtMs ?? systemClock.now();
  }

  /** How often the clock was set or released, as far as this process knows. */
  get version(): number {
    return this.followed;
  }

  /** Whether time stands still, so that nothing falls due by itself. */
  get stands(): boolean {
    return this.standsAtMs !== null;
  }

  onChange(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** Resolves when this process shows the stored time. */
  async start(): Promise<void> {
    // If Postgres is away, the next check finds out.
    this.stopListening = this.signals.listen('clock', () => void this.refresh().catch(() => undefined), BACKSTOP_MS);
    await this.refresh();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.stopListening();
    // Resolves after the current check.
    await this.refresh().catch(() => undefined);
    await dropFollower(this.pool, this.id).catch(() => undefined);
  }

  /** Resolves when this process shows the setting stored at the call, or a later one. */
  refresh(): Promise<void> {
    return this.refreshes.run();
  }

  private async read(): Promise<void> {
    const before = this.followed;
    while (!this.closed && !(await this.isCurrent()));
    if (this.followed !== before) for (const listener of this.listeners) listener();
  }

  /** Stores which version this process has. Whether it was the last one; if not, the process has the last one now. */
  private async isCurrent(): Promise<boolean> {
    const { id, worker, followed } = this;
    const { version, nowMs } = await followClock(this.pool, { id, worker, version: followed });
    if (this.closed || version === followed) return true;
    this.standsAtMs = nowMs;
    this.followed = version;
    return false;
  }
}
