import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { connectAgain } from './connect-again.ts';
import { readRun } from './run.ts';

/** How much longer than its time a WAIT may take to be answered. */
const OVERDUE_MS = 2_000;
const LOOK_MS = 10;
/** A connection that was made within this time leads where the name, or the Sentinels, lead now. */
const FRESH_MS = 1_000;

/** A connection on which replicas are waited for, one round at a time: WAIT holds up whatever comes behind it. */
export class RoundConnection {
  readonly redis: Redis;
  /** A round is under way on it. */
  isBusy = false;
  /** Where it leads; null: to be asked. And since when there is one. */
  private run: string | null = null;
  private connectedMs = -Infinity;
  private readonly ending: AbortSignal;

  /** `redis`: only copied. `timeoutMs`: of a WAIT. Once `ending` is aborted it is closed. */
  constructor({ redis, timeoutMs, ending }: { redis: Redis; timeoutMs: number; ending: AbortSignal }) {
    this.ending = ending;
    this.redis = redis.duplicate({ socketTimeout: timeoutMs + OVERDUE_MS });
    this.redis.on('close', () => (this.run = null));
    this.redis.on('connect', () => (this.connectedMs = performance.now()));
    // What is wrong with Redis shows on the connection that writes.
    this.redis.on('error', () => undefined);
    ending.addEventListener('abort', () => this.redis.disconnect());
  }

  /** Resolves when it is ready, or after `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while (this.redis.status !== 'ready' && performance.now() < deadlineMs && !this.ending.aborted)
      await sleep(LOOK_MS);
  }

  /**
   * Whether it leads to a run of Redis. If not, it is made again; `former`: it just was, so whoever takes this run for that of the
   * master goes by a former one. Errors of Redis.
   */
  async leadsTo(run: string): Promise<'there' | 'elsewhere' | 'former'> {
    if (this.run === run) return 'there';
    const { connectedMs } = this;
    this.run = await readRun(this.redis).catch((error: unknown) => {
      this.renew();
      throw error;
    });
    if (this.run === run) return 'there';
    if (performance.now() - connectedMs <= FRESH_MS) return 'former';
    this.renew();
    return 'elsewhere';
  }

  /** Whether it was made longer ago than that. */
  isOlderThan(ms: number): boolean {
    return performance.now() - this.connectedMs > ms;
  }

  /** Connects again, to where the name, or the Sentinels, lead now. */
  renew(): void {
    if (!this.ending.aborted) connectAgain(this.redis);
  }
}
