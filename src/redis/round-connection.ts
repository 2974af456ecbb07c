import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { connectAgain } from './connection.ts';
import { readRedisProcessId } from './server-info.ts';

/** How much longer than its timeout a WAIT may take. */
const OVERDUE_MS = 2_000;
const LOOK_MS = 10;
/** A younger connection certainly leads where the name or the Sentinels lead now. */
const FRESH_MS = 1_000;

/** A connection for rounds of WAIT, one at a time, because WAIT blocks later commands. */
export class RoundConnection {
  readonly redis: Redis;
  isBusy = false;
  /** The Redis process that it leads to; `null` until known. */
  private redisProcessId: string | null = null;
  private connectedMs = -Infinity;
  private readonly ending: AbortSignal;

  /** Duplicates `redis`. `timeoutMs`: timeout of each WAIT. Closes when `ending` aborts. */
  constructor({ redis, timeoutMs, ending }: { redis: Redis; timeoutMs: number; ending: AbortSignal }) {
    this.ending = ending;
    this.redis = redis.duplicate({ socketTimeout: timeoutMs + OVERDUE_MS });
    this.redis.on('close', () => (this.redisProcessId = null));
    this.redis.on('connect', () => (this.connectedMs = performance.now()));
    // The connection that writes reports problems with Redis.
    this.redis.on('error', () => undefined);
    ending.addEventListener('abort', () => this.redis.disconnect());
  }

  /** Resolves when the connection is ready, or after `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while (this.redis.status !== 'ready' && performance.now() < deadlineMs && !this.ending.aborted)
      await sleep(LOOK_MS);
  }

  /**
   * Whether the connection leads to a Redis process. If not, reconnects, unless it just did: then the process is that of a former master
   * (`former`). Throws errors of Redis.
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

  /** Reconnects to where the name or the Sentinels now lead. */
  renew(): void {
    if (!this.ending.aborted) connectAgain(this.redis);
  }
}
