import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { AppError } from '../../errors.ts';
import { readClock, releaseClock, setClock } from '../../postgres/test-clock.ts';
import { switchedOnWaits } from '../../postgres/switched-on.ts';
import { countFollowers } from '../../postgres/test-clock-followers.ts';
import { CLOCK_CHANNEL } from '../../redis/keys.ts';
import type { TestClock } from './test-clock.ts';

export interface ClockControlOptions {
  pool: Pool;
  redis: Redis;
  clock: TestClock;
  /** How long there may be no worker, or work that fails, before a call gives up; ms. */
  patienceMs?: number;
}

const LOOK_MS = 10;
const PATIENCE_MS = 10_000;

/** Sets the test clock of all processes. */
export class ClockControl {
  private readonly options: ClockControlOptions;

  constructor(options: ClockControlOptions) {
    this.options = options;
  }

  /** The time as everyone here sees it, epoch ms. */
  nowMs(): number {
    return this.options.clock.now();
  }

  /**
   * Lets the clock stand at a time. What was switched on before is backdated and filled first. Resolves when every
   * live process shows that time and the work due up to it is done. 422 for a time before the present one. 503 if no
   * worker lives (the clock stays as it was; if the last one dies meanwhile, it is set), or if work fails again and
   * again: that is done as soon as its cause is mended.
   */
  async set(nowMs: number): Promise<void> {
    const { pool } = this.options;
    await this.workerLives();
    await this.switchedOn();
    const set = await setClock(pool, { nowMs, realMs: Date.now() });
    if (set === null) throw new AppError('unprocessable', `now is before ${this.text()}: time does not go back`);
    await this.tell(set.version);
    await this.done(set.version);
  }

  /** Back to real time. Resolves when every live process shows it. */
  async release(): Promise<void> {
    const { version } = await releaseClock(this.options.pool);
    await this.tell(version);
  }

  private text(): string {
    return new Date(this.nowMs()).toISOString();
  }

  private async workerLives(): Promise<void> {
    const { pool, patienceMs = PATIENCE_MS } = this.options;
    const endMs = performance.now() + patienceMs;
    while ((await countFollowers(pool, 0)).workers === 0) {
      if (performance.now() > endMs) {
        throw new AppError('unavailable', 'No worker is running to do what falls due; the clock stays as it was');
      }
      await sleep(LOOK_MS);
    }
  }

  /** Resolves when what was switched on is completed for those who qualify and filled from history, or after a while. */
  private async switchedOn(): Promise<void> {
    const { pool, patienceMs = PATIENCE_MS } = this.options;
    const endMs = performance.now() + patienceMs;
    while ((await switchedOnWaits(pool)) && performance.now() < endMs) await sleep(LOOK_MS);
  }

  /** Resolves when every live process has this version; one that does not answer any more counts as gone in 5 s. */
  private async tell(version: number): Promise<void> {
    const { pool, redis, clock } = this.options;
    await redis.publish(CLOCK_CHANNEL, String(version)).catch(() => undefined);
    await clock.look();
    while ((await countFollowers(pool, version)).behind > 0) await sleep(LOOK_MS);
  }

  private async done(version: number): Promise<void> {
    const { pool, patienceMs = PATIENCE_MS } = this.options;
    let wellMs = performance.now();
    for (;;) {
      const { doneVersion, problem } = await readClock(pool);
      if (doneVersion >= version) return;
      const { workers } = await countFollowers(pool, version);
      if (workers > 0 && problem === null) wellMs = performance.now();
      if (performance.now() - wellMs > patienceMs) {
        const why = problem ?? 'no worker is running';
        throw new AppError('unavailable', `The clock is set, but not all that fell due is done: ${why}`);
      }
      await sleep(LOOK_MS);
    }
  }
}
