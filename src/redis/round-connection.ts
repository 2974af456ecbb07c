import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { connectAgain } from './connection.ts';
import { readRedisProcessId } from './server-info.ts';

/** How much longer than its timeout a WAIT may take. */
const OVERDUE_MS = 2_000;
const LOOK_MS = 10;
/** A connection younger than this leads where the name or the Sentinels lead now. */
const FRESH_MS = 1_000;

/** A connection for rounds of WAIT, one at a time: WAIT blocks the commands after it. */
export class RoundConnection {
  readonly redis: Redis;
  /** Whether a round is in flight. */
  isBusy = false;
  /** The Redis process that it leads to; null until it is asked. */
  private redisProcessId: string | null = null;
  private connectedMs = -Infinity;
  private readonly ending: AbortSignal;

  /** `redis` is only copied. `timeoutMs`: of a WAIT. Closes when `ending` is aborted. */
  constructor({ redis, timeoutMs, ending }: { redis: Redis; timeoutMs: number; ending: AbortSignal }) {
    this.ending = ending;
    this.redis = redis.duplicate({ socketTimeout: timeoutMs + OVERDUE_MS });
    this.redis.on('close', () => (this.redisProcessId = null));
    this.redis.on('connect', () => (this.connectedMs = performance.now()));
    // The connection that writes reports what is wrong with Redis.
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
   * Whether it leads to a Redis process. If not, the connection is renewed, unless it just was: then the process is that of a
   * former master (`former`). Errors of Redis.
   */
  async leadsTo(redisProcessId: string): Promise<'there' | 'elsewhere' | 'former'> {
    if (this.redisProcessId === redisProcessId) return 'there';
    const { connectedMs } = this;
    this.redisProcessId = await readRedisProcessId(this.redis).catch((error: unknown) => {
      this.renew();
      throw error;
    });
    if (this.redisProcessId === redisProcessId) return 'there';
    if (performance.now() - connectedMs <= FRESH_MS) return 'former';
    this.renew();
    return 'elsewhere';
  }

  isOlderThan(ms: number): boolean {
    return performance.now() - this.connectedMs > ms;
  }

  /** Connects again, to where the name or the Sentinels lead now. */
  renew(): void {
    if (!this.ending.aborted) connectAgain(this.redis);
  }
}
